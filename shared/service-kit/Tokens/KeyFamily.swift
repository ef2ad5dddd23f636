public import Web

/// A group of roles whose tokens share one signing key.
///
/// A service holds only the keys of the families that its endpoints admit, so a leak of the
/// ingest's key makes no member and no admin.
public enum KeyFamily: String, Sendable, Hashable, CaseIterable {
    /// Anonymous installations.
    case rider
    /// People with an account.
    case member
    /// Drivers and admins.
    case staff

    /// The family that signs tokens of `role`.
    public init(of role: Role) {
        switch role {
        case .rider: self = .rider
        case .member: self = .member
        case .driver, .admin: self = .staff
        }
    }
}

/// The name of a key as a token's `kid` carries it: `<family>.<generation>`.
public struct KeyID: Sendable, Hashable, CustomStringConvertible {
    /// The highest generation; one a day lasts 273 years.
    public static let generationLimit = 99_999

    /// The family of roles.
    public let family: KeyFamily
    /// The generation, from 1; the next one replaces it in a rotation.
    public let generation: Int

    /// Names a key.
    public init(_ family: KeyFamily, generation: Int) {
        self.family = family
        self.generation = generation
    }

    /// Reads a `kid`; nil for anything but what ``description`` writes, so that one key has one name.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let family = KeyFamily(rawValue: String(parts[0])),
            let generation = Int(parts[1]), (1...Self.generationLimit).contains(generation),
            String(generation) == parts[1]
        else { return nil }
        self.init(family, generation: generation)
    }

    /// `<family>.<generation>`.
    public var description: String { "\(family.rawValue).\(generation)" }
}
