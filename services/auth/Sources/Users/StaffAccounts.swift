public import Database
internal import Telemetry
public import Transit
internal import Web

/// Makes accounts of staff from outside the running service, as `alongside user add` does.
public enum StaffAccounts {
    /// Roles of staff.
    public enum StaffRole: String, Sendable, CaseIterable {
        /// Reports where a vehicle is.
        case driver
        /// May do everything, and lets others in.
        case admin
    }

    /// Why an account cannot be made: one sentence that says what to do next.
    public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
        /// The sentence.
        public let description: String
    }

    /// What a start finds of the admin that it would make.
    public enum AdminStanding: Sendable, Equatable {
        /// Nobody is an admin, so the first one will be made.
        case noneYet
        /// The address is an admin's, and the password opens that account or does not.
        case exists(passwordFits: Bool)
        /// There are admins, of other addresses; one that is switched off counts as another.
        case others
    }

    /// Whether a first admin is still to be made, and if not whether this one was.
    ///
    /// Blocks for one password hash, as ``add(_:email:name:password:at:to:)`` does.
    ///
    /// - Parameters:
    ///   - email: The address of the first admin.
    ///   - password: Its password, where one is known.
    ///   - database: A pool in auth's role.
    /// - Returns: What the accounts say.
    /// - Throws: `DatabaseError` when the database fails.
    public static func standing(
        ofFirstAdmin email: String,
        password: String?,
        in database: Database
    ) async throws(DatabaseError) -> AdminStanding {
        let found = try await database.withConnection {
            connection throws(DatabaseError) -> (hasAdmin: Bool, account: Account?) in
            (
                hasAdmin: try StaffRows.hasAdmin(on: connection),
                account: try AccountRows.find(.email(email), on: connection)
            )
        }
        guard found.hasAdmin else { return .noneYet }
        guard let account = found.account, account.role == .admin, account.isActive else {
            return .others
        }
        let fits = password.map { Argon2.verify(Array($0.utf8), against: account.passwordHash) }
        return .exists(passwordFits: fits ?? false)
    }

    /// Makes an account.
    ///
    /// Blocks for one password hash, so it is for programs that do nothing else.
    ///
    /// - Parameters:
    ///   - role: What the account may do.
    ///   - email: What it logs in with.
    ///   - name: Who it is, 1 to 100 characters.
    ///   - password: 8 to 1,024 bytes.
    ///   - now: POSIX seconds.
    ///   - database: A pool in auth's role.
    /// - Returns: The account's id.
    /// - Throws: ``Fault`` for what may not be, `DatabaseError` when the database fails.
    public static func add(
        _ role: StaffRole,
        email: String,
        name: String,
        password: String,
        at now: UnixSeconds,
        to database: Database
    ) async throws -> UniqueID {
        let name = name.trimmingWhitespace()
        guard !name.isEmpty, name.unicodeScalars.count <= UserChange.nameLimit else {
            throw Fault(description: "the name must have 1 to \(UserChange.nameLimit) characters")
        }
        guard let address = EmailAddress(email) else {
            throw Fault(description: "\(email) is no e-mail address")
        }
        do throws(PasswordRules.Fault) {
            try PasswordRules.check(password)
        } catch {
            throw Fault(description: error.message)
        }
        guard let hash = Argon2.hash(Array(password.utf8), .standard) else {
            throw Fault(description: "there is not enough memory to hash a password")
        }
        let new = NewAccount(
            role: role == .admin ? .admin : .driver,
            handle: nil,
            email: address,
            name: name,
            passwordHash: hash
        )
        do throws(DatabaseError) {
            return try await database.transaction { connection throws(DatabaseError) in
                try StaffRows.insert(new, at: now, on: connection).id
            }
        } catch {
            guard AccountConflict(error) != nil else { throw error }
            throw Fault(description: "an account with the address \(email) exists already")
        }
    }
}
