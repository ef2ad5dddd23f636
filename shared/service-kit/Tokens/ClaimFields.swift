internal import Web

/// The claims of a token's payload as they are written, unchecked; what is absent or null is nil.
///
/// Read without Codable, which takes twenty times as long: every request has a token.
struct ClaimFields {
    private(set) var iss: String?
    private(set) var sub: String?
    private(set) var role: String?
    /// Numbers are read as RFC 7519's NumericDate: a fraction is allowed.
    private(set) var iat: Double?
    private(set) var exp: Double?
    private(set) var nbf: Double?
    private(set) var jti: String?
    private(set) var handle: String?
    private(set) var email: String?
    private(set) var net: String?
    private(set) var bld: String?
    private(set) var ins: Double?

    /// Tokens of other makers and of earlier releases say nothing of the installation.
    var installation: InstallationFacts? {
        guard let build = bld.flatMap({ UInt64($0, radix: 16) }),
            let installedAt = ins.flatMap(wholeSeconds)
        else { return nil }
        return InstallationFacts(
            addressBlock: net.flatMap { UInt64($0, radix: 16) },
            installedAt: installedAt,
            build: build
        )
    }

    /// Reads a payload; nil for what is no object, and for a claim of another type or given twice.
    ///
    /// - Parameter payload: One JSON object; members of other names are passed over.
    init?(parsing payload: [UInt8]) {
        do throws(JSONError) {
            var reader = JSONReader(payload)
            guard try read(&reader) else { return nil }
        } catch {
            return nil
        }
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) -> Bool {
        guard try reader.next() == .beginObject else { return false }
        while true {
            switch try reader.next() {
            case .endObject: return try reader.next() == .end
            case .key: guard try readMember(&reader) else { return false }
            default: return false
            }
        }
    }

    private mutating func readMember(_ reader: inout JSONReader) throws(JSONError) -> Bool {
        if reader.isEqual(to: "iss") { return try Self.read(&iss, &reader) }
        if reader.isEqual(to: "sub") { return try Self.read(&sub, &reader) }
        if reader.isEqual(to: "role") { return try Self.read(&role, &reader) }
        if reader.isEqual(to: "iat") { return try Self.read(&iat, &reader) }
        if reader.isEqual(to: "exp") { return try Self.read(&exp, &reader) }
        if reader.isEqual(to: "nbf") { return try Self.read(&nbf, &reader) }
        if reader.isEqual(to: "jti") { return try Self.read(&jti, &reader) }
        if reader.isEqual(to: "handle") { return try Self.read(&handle, &reader) }
        if reader.isEqual(to: "email") { return try Self.read(&email, &reader) }
        if reader.isEqual(to: "net") { return try Self.read(&net, &reader) }
        if reader.isEqual(to: "bld") { return try Self.read(&bld, &reader) }
        if reader.isEqual(to: "ins") { return try Self.read(&ins, &reader) }
        try reader.skipValue()
        return true
    }

    private static func read(
        _ claim: inout String?,
        _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch try reader.next() {
        case .null: return true
        case .string where claim == nil:
            claim = try reader.string()
            return true
        default: return false
        }
    }

    private static func read(
        _ claim: inout Double?,
        _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch try reader.next() {
        case .null: return true
        case .number where claim == nil:
            claim = reader.double
            return true
        default: return false
        }
    }
}
