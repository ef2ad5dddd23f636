internal import Web

/// What an admin says about a user, checked in the order of spec 1.3.
struct UserChange: Sendable {
    /// Characters of a name.
    static let nameLimit = 100

    let name: String
    let email: EmailAddress
    let role: Role
    /// nil leaves it as it is.
    let isActive: Bool?
    /// nil leaves it as it is.
    let password: String?

    /// Reads the body of a creation, which must have a password, or of a change, which may.
    init(_ request: HTTPRequest, isNew: Bool) throws(HTTPError) {
        let body = try request.jsonObject()
        name = (try body.string("name") ?? "").trimmingWhitespace()
        let emailText = (try body.string("email") ?? "").trimmingWhitespace()
        let roleText = try body.string("role") ?? ""
        password = try body.string("password")
        isActive = isNew ? nil : try body.bool("active")
        try body.finish()
        guard !name.isEmpty else {
            throw .badRequest("name is required", code: "name.required")
        }
        guard name.unicodeScalars.count <= Self.nameLimit else {
            throw .badRequest(
                "name must be at most \(Self.nameLimit) characters",
                code: "name.too_long"
            )
        }
        guard name.isVisible else {
            throw .badRequest("the name has characters that are not seen", code: "name.invalid")
        }
        guard !emailText.isEmpty else {
            throw .badRequest("email is required", code: "email.required")
        }
        guard let email = EmailAddress(emailText) else { throw .invalidEmail }
        self.email = email
        if let text = password ?? (isNew ? "" : nil) {
            do throws(PasswordRules.Fault) {
                try PasswordRules.check(text)
            } catch {
                throw HTTPError(error)
            }
        }
        switch roleText {
        case Role.driver.rawValue: role = .driver
        case Role.admin.rawValue: role = .admin
        default: throw .badRequest("role must be 'driver' or 'admin'", code: "role.invalid")
        }
    }
}

/// The part of the list that is asked for.
struct UserPage: Sendable, Equatable {
    static let limitRange = 1...200
    static let offsetRange = 0...2_147_483_647
    static let defaultLimit = 50

    let limit: Int
    let offset: Int

    init(_ query: QueryItems) throws(HTTPError) {
        limit = try Self.number("limit", query, Self.limitRange) ?? Self.defaultLimit
        offset = try Self.number("offset", query, Self.offsetRange) ?? 0
    }

    private static func number(
        _ name: String,
        _ query: QueryItems,
        _ range: ClosedRange<Int>
    ) throws(HTTPError) -> Int? {
        guard let text = query.first(name) else { return nil }
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, let number = Int(text), range.contains(number) else {
            throw .badRequest(
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)",
                code: "\(name).invalid"
            )
        }
        return number
    }
}
