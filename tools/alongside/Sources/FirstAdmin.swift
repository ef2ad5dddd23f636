internal import ServiceKit

/// The first admin of an `up`: from the operator's settings, else with a password made and kept.
struct FirstAdmin {
    /// What only auth is to know; the other services get none of it.
    static let keys = [
        "ADMIN_BOOTSTRAP_EMAIL", "ADMIN_BOOTSTRAP_PASSWORD", "ADMIN_BOOTSTRAP_PASSWORD_FILE",
    ]
    /// An address that no mail goes to.
    static let defaultEmail = "admin@localhost"

    /// The variables for auth.
    let environment: [String: String]
    /// Who it is and where the password lies.
    let announcement: String

    /// Takes the operator's word, or makes a password in `folder` once.
    ///
    /// - Throws: ``OperationError`` when the password cannot be kept.
    init(
        _ settings: Settings,
        environment: [String: String],
        _ folder: DataFolder
    ) throws(OperationError) {
        if settings[UpSettings.adminPassword] != nil {
            self.environment = environment.filter { Self.keys.contains($0.key) }
            let email = settings[UpSettings.adminEmail] ?? ""
            announcement = "\(email), password from ADMIN_BOOTSTRAP_PASSWORD"
            return
        }
        let email = settings[UpSettings.adminEmail] ?? Self.defaultEmail
        let file = try folder.secret("admin-password").path
        self.environment = [
            "ADMIN_BOOTSTRAP_EMAIL": email, "ADMIN_BOOTSTRAP_PASSWORD_FILE": file,
        ]
        announcement = "\(email), its first password is in \(file)"
    }
}
