internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// Makes the first admin from the settings, once and by one of all replicas (spec 1.2).
struct BootstrapAdmin: Sendable {
    static let emailSetting = Setting.optionalText(
        "ADMIN_BOOTSTRAP_EMAIL",
        allowed: "an e-mail address",
        "The address of the first admin, made when there is none.",
        where: { EmailAddress($0) != nil }
    )
    static let passwordSetting = Setting.secret(
        "ADMIN_BOOTSTRAP_PASSWORD",
        minimumBytes: PasswordRules.byteRange.lowerBound,
        "The password of the first admin, 8 to 1,024 bytes; change it after the first log-in."
    )
    /// Either one alone would make nobody, and nobody would notice before the first log-in.
    static let rule = SettingsRule(over: [emailSetting.key, passwordSetting.key]) { settings in
        let password = settings[passwordSetting]
        guard (settings[emailSetting] == nil) == (password == nil) else {
            return [
                SettingFault(
                    "ADMIN_BOOTSTRAP_EMAIL and ADMIN_BOOTSTRAP_PASSWORD: set both or neither"
                )
            ]
        }
        guard let password else { return [] }
        do throws(PasswordRules.Fault) {
            try PasswordRules.check(password.revealed())
        } catch {
            return [SettingFault("ADMIN_BOOTSTRAP_PASSWORD: \(error.message)")]
        }
        return []
    }

    let email: EmailAddress
    let password: Secret

    /// nil without the settings.
    init?(_ settings: Settings) {
        guard let email = settings[Self.emailSetting].flatMap(EmailAddress.init),
            let password = settings[Self.passwordSetting]
        else { return nil }
        self.email = email
        self.password = password
    }

    /// Why the first admin cannot be made.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes the admin unless there is one.
    ///
    /// - Parameters:
    ///   - passwords: Computes the hash.
    ///   - database: Auth's pool.
    ///   - now: The application clock.
    ///   - logger: Hears of a new admin.
    /// - Throws: ``Fault`` when the address is another account's, `DatabaseError`.
    func make(
        _ passwords: PasswordWorker,
        in database: Database,
        at now: UnixSeconds,
        logger: Logger
    ) async throws {
        let isNeeded = try await database.withConnection { connection throws(DatabaseError) in
            try !StaffRows.hasAdmin(on: connection)
        }
        guard isNeeded else { return }
        let hash = try await passwords.hash(password.revealed(), by: .now + .seconds(30))
        let new = NewAccount(
            role: .admin,
            handle: nil,
            email: email,
            name: "Administrator",
            passwordHash: hash
        )
        do throws(DatabaseError) {
            let made = try await database.transaction { connection throws(DatabaseError) -> Bool in
                // Two replicas that start at once see the same empty table; this lets one pass.
                try connection.execute("LOCK TABLE auth.accounts IN SHARE ROW EXCLUSIVE MODE")
                guard try !StaffRows.hasAdmin(on: connection) else { return false }
                _ = try StaffRows.insert(new, at: now, on: connection)
                return true
            }
            if made { logger.info("the first admin was made from ADMIN_BOOTSTRAP_EMAIL") }
        } catch {
            guard AccountConflict(error) != nil else { throw error }
            throw Fault(
                description: "ADMIN_BOOTSTRAP_EMAIL is the address of an account that is no admin; "
                    + "choose another one, or make the admin with `alongside user add`"
            )
        }
    }
}
