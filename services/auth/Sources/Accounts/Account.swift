internal import Database
internal import Messages
internal import Transit
internal import Web

/// A person or a member of staff, as the table has it.
struct Account: Sendable, Equatable {
    let id: UniqueID
    let role: Role
    let handle: String?
    let email: String?
    /// The name of staff; empty for members.
    let name: String
    let isActive: Bool
    let passwordHash: String
    /// Rises with each new password, not with a new hash of the same one.
    let passwordGeneration: Int
    let createdAt: UnixSeconds
    let updatedAt: UnixSeconds

    /// The columns that ``init(_:)`` reads.
    static let columns = """
        id, role, handle, email, name, active, password_hash, password_generation, created_at,
        updated_at
        """

    /// Reads a row of ``columns``.
    init(_ row: Row) throws(DatabaseError) {
        let roleText = try row.text("role")
        guard let role = Role(rawValue: roleText) else {
            throw DatabaseError(.statement, "an account has the role \(roleText)")
        }
        id = try row.uuid("id")
        self.role = role
        handle = try row.optionalText("handle")
        email = try row.optionalText("email")
        name = try row.text("name")
        isActive = try row.bool("active")
        passwordHash = try row.text("password_hash")
        passwordGeneration = try row.int("password_generation")
        createdAt = try row.timestamp("created_at")
        updatedAt = try row.timestamp("updated_at")
    }

    /// Whether this is somebody who works for the agency.
    var isStaff: Bool { role == .driver || role == .admin }
}

/// What an account begins with.
struct NewAccount: Sendable {
    let role: Role
    let handle: Handle?
    let email: EmailAddress?
    let name: String
    let passwordHash: String
}

/// By what an account is found at a log-in.
enum Identity: Sendable, Equatable {
    case handle(String)
    case email(String)

    /// The text that is compared; nil for what no account can have.
    var key: String? {
        switch self {
        case .handle(let text): Handle(text)?.key
        case .email(let text): EmailAddress(text)?.key
        }
    }

    /// What attempts are counted under: a digest, so that the counting table holds no address and a
    /// text of any length takes the same room.
    var caller: String {
        switch self {
        case .handle(let text): Self.caller("handle " + (key ?? text))
        case .email(let text): Self.caller("email " + (key ?? text))
        }
    }

    /// What attempts of a caller who is known already are counted under.
    static func caller(_ account: UniqueID) -> String { caller("account \(account)") }

    private static func caller(_ text: String) -> String { Sodium.blake2b(text).hexadecimal }
}

/// Why an account cannot be stored as asked.
enum AccountConflict: Error, Sendable {
    case handleTaken
    case emailTaken

    /// Reads the refusal of a unique index; nil for another error.
    init?(_ error: DatabaseError) {
        switch error.constraint {
        case "accounts_handle_key_key" where error.isUniqueViolation: self = .handleTaken
        case "accounts_email_key_key" where error.isUniqueViolation: self = .emailTaken
        default: return nil
        }
    }

    /// The answer, 409 (spec 1.3, circles spec 0).
    var refusal: HTTPError {
        switch self {
        case .handleTaken:
            HTTPError(status: 409, code: "handle.taken", message: "handle already exists")
        case .emailTaken:
            HTTPError(status: 409, code: "email.taken", message: "email already exists")
        }
    }
}
