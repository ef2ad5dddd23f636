internal import AuthService
internal import ServiceKit

/// The first admin of an `up`: from the operator's settings, else with a password made and kept.
struct FirstAdmin {
    private static let passwordKeys = [
        "ADMIN_BOOTSTRAP_PASSWORD", "ADMIN_BOOTSTRAP_PASSWORD_FILE",
    ]
    /// What only auth is to know; the other services get none of it.
    static let keys = ["ADMIN_BOOTSTRAP_EMAIL"] + passwordKeys
    /// An address that no mail goes to.
    static let defaultEmail = "admin@localhost"

    /// The variables for auth; none when there is nobody to make.
    let environment: [String: String]
    /// Who it is and where the password lies, or why nobody is made.
    let announcement: String

    /// Takes the operator's word, or makes a password in `folder` once, while there is no admin.
    ///
    /// - Parameters:
    ///   - settings: Those of `up`.
    ///   - environment: The operator's variables.
    ///   - folder: Keeps a password that is made.
    ///   - standing: Asks the accounts (``standing(of:password:in:)``).
    /// - Throws: ``OperationError`` when the password cannot be kept or the accounts do not tell.
    init(
        _ settings: Settings,
        environment: [String: String],
        _ folder: DataFolder,
        standing: (_ email: String, _ password: String?) throws(OperationError) ->
            StaffAccounts.AdminStanding
    ) throws(OperationError) {
        let email = settings[UpSettings.adminEmail] ?? Self.defaultEmail
        let own = settings[UpSettings.adminPassword]?.revealed()
        let file = folder.keys + "/admin-password"
        let password = own ?? DataFolder.text(of: file)
        let known =
            own == nil
            ? "\(email), its first password is in \(file)"
            : "\(email), password from ADMIN_BOOTSTRAP_PASSWORD"
        let advice = "`alongside user add --role admin` makes another admin"
        switch try standing(email, password) {
        case .noneYet:
            var variables = environment.filter { Self.passwordKeys.contains($0.key) }
            if own == nil {
                variables = [
                    "ADMIN_BOOTSTRAP_PASSWORD_FILE": try folder.secret("admin-password").path
                ]
            }
            variables["ADMIN_BOOTSTRAP_EMAIL"] = email
            self.environment = variables
            announcement = known
        case .exists(passwordFits: true):
            self.environment = [:]
            announcement = known
        case .exists(passwordFits: false):
            self.environment = [:]
            let source = own == nil ? file : "ADMIN_BOOTSTRAP_PASSWORD"
            announcement =
                "\(email) exists already, with another password than \(source) has; \(advice)"
        case .others:
            self.environment = [:]
            announcement = "\(email) is not made, as there is an admin already; \(advice)"
        }
    }

    /// Asks the accounts whether a first admin is still to be made; blocks for one password hash.
    static func standing(
        of email: String,
        password: String?,
        in url: String
    ) throws(OperationError) -> StaffAccounts.AdminStanding {
        let name = "alongside-first-admin"
        let found = BlockingWait.run(on: url, as: Auth.schema, called: name) { database in
            try await StaffAccounts.standing(
                ofFirstAdmin: email,
                password: password,
                in: database
            )
        }
        switch found {
        case .success(let standing): return standing
        case .failure(let error):
            throw OperationError("the accounts cannot be read: \(error); see the database's log")
        }
    }
}
