/// Starts the private PostgreSQL again when it ends while the services run.
///
/// Nothing else would: it is not a child of ours, so that it outlives a crash of `up`.
struct DatabaseWatch {
    /// How often it is looked after, and the pause after a start that failed.
    static let periodSeconds = 1.0

    private let postgres: PrivatePostgres
    private let say: (String) -> Void
    private var nextLook: Double

    init(_ postgres: PrivatePostgres, say: @escaping (String) -> Void) {
        self.postgres = postgres
        self.say = say
        nextLook = Supervisor.monotonicSeconds() + Self.periodSeconds
    }

    /// Looks once a second; blocks while the server starts.
    mutating func tick() {
        guard Supervisor.monotonicSeconds() >= nextLook else { return }
        if !postgres.isRunning {
            do throws(OperationError) {
                _ = try postgres.start()
                say("the private PostgreSQL had ended and was started again")
            } catch {
                say("the private PostgreSQL has ended: \(error)")
            }
        }
        nextLook = Supervisor.monotonicSeconds() + Self.periodSeconds
    }
}
