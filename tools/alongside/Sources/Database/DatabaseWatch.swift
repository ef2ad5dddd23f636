/// Starts the private PostgreSQL again when it ends while the services run, and bounds its log.
///
/// Nothing else would: it is not a child of ours, so that it outlives a crash of `up`.
struct DatabaseWatch {
    /// How often a server that runs is looked after, in seconds.
    static let periodSeconds = 1.0
    /// How often while it does not.
    static let restartPeriodSeconds = 0.1

    private enum State {
        case up
        case starting(ChildProcess)
        case waiting(until: Double)
    }

    private let postgres: PrivatePostgres
    private let say: (String) -> Void
    private var state = State.up
    private var policy = RestartPolicy()
    private var nextLook: Double
    /// The last trouble that was told: it is not told again while it lasts.
    private var told: String?

    init(_ postgres: PrivatePostgres, say: @escaping (String) -> Void) {
        self.postgres = postgres
        self.say = say
        let now = Supervisor.monotonicSeconds()
        nextLook = now + Self.periodSeconds
        policy.started(at: now)
    }

    /// Looks and goes one step on, without waiting for the server; to be called several times a second.
    mutating func tick() {
        let now = Supervisor.monotonicSeconds()
        guard now >= nextLook else { return }
        switch state {
        case .up:
            LogLimit.hold(postgres.logPath)
            if !postgres.isRunning { state = .waiting(until: policy.ended(at: now)) }
        case .waiting(let until): if now >= until { start(at: now) }
        case .starting(let program):
            if let code = program.ended() { started(code, at: now) }
        }
        nextLook = now + Self.restartPeriodSeconds
        if case .up = state { nextLook = now + Self.periodSeconds }
    }

    private mutating func start(at now: Double) {
        // Its data is back, with the server that was always there.
        if postgres.isRunning { return begin(told == nil ? nil : "is there again") }
        policy.started(at: now)
        do throws(OperationError) {
            state = .starting(try postgres.startAgain())
        } catch {
            wait("\(error)", at: now)
        }
    }

    private mutating func started(_ code: Int32, at now: Double) {
        guard code == 0 else {
            return wait("it does not start; its log is \(postgres.logPath)", at: now)
        }
        begin("had ended and was started again")
    }

    private mutating func begin(_ what: String?) {
        state = .up
        told = nil
        if let what { say("the private PostgreSQL \(what)") }
    }

    private mutating func wait(_ trouble: String, at now: Double) {
        state = .waiting(until: policy.ended(at: now))
        guard trouble != told else { return }
        told = trouble
        say("the private PostgreSQL has ended: \(trouble)")
    }
}
