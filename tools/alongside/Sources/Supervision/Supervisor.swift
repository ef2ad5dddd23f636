internal import CLinux
internal import Glibc
internal import Telemetry

/// A program that `up` keeps running.
struct ManagedProgram: Sendable {
    /// Its name in logs and messages, unique within an `up`.
    let name: String
    let executable: String
    let arguments: [String]
    let environment: [String: String]
    let logPath: String
    /// Programs of a higher stage are stopped before those of a lower one.
    let stage: Stage

    /// The order of the stop: simulated riders, the gateway, then the services.
    enum Stage: Int, Sendable, CaseIterable, Comparable {
        case services
        case gateway
        case riders

        static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }
}

/// Starts programs, starts them again when they end, and stops them in order.
///
/// All of it runs on the thread that calls ``tick()``: children end with the thread that
/// started them, so that thread must live as long as the product.
final class Supervisor {
    /// How long a program may take to stop before it is killed; services promise 10 s.
    static let stopDeadlineSeconds = 12.0
    /// How often logs are looked at; a part would have to write 10 MB in this time to matter.
    static let logPeriodSeconds = 1.0

    private struct Entry {
        let program: ManagedProgram
        var process: ChildProcess?
        var policy = RestartPolicy()
        var startAt: Double?
    }

    private let logger: Logger
    private let stopDeadline: Double
    private let logLimit: Int
    private var entries: [Entry] = []
    private var nextLogLook = 0.0
    private var stopping = false
    /// Programs that ended by themselves: the last exit code and how often.
    private(set) var failures: [String: (code: Int32, count: Int)] = [:]

    /// Makes a supervisor without programs.
    ///
    /// - Parameters:
    ///   - logger: Takes a line for each end, restart and kill.
    ///   - stopDeadline: How many seconds a program may take to stop before it is killed.
    ///   - logLimit: How many bytes a program's log may have.
    init(
        logger: Logger,
        stopDeadline: Double = Supervisor.stopDeadlineSeconds,
        logLimit: Int = LogLimit.bytes
    ) {
        self.logger = logger
        self.stopDeadline = stopDeadline
        self.logLimit = logLimit
    }

    /// Adds a program and starts it.
    func add(_ program: ManagedProgram) throws(OperationError) {
        var entry = Entry(program: program)
        try start(&entry)
        entries.append(entry)
    }

    /// Reaps and restarts what ended and bounds the logs; to be called several times a second.
    func tick() {
        let now = Self.monotonicSeconds()
        if now >= nextLogLook {
            for entry in entries { LogLimit.hold(entry.program.logPath, to: logLimit) }
            nextLogLook = now + Self.logPeriodSeconds
        }
        for index in entries.indices {
            if let process = entries[index].process, let code = process.ended() {
                entries[index].process = nil
                let earlier = failures[entries[index].program.name]?.count ?? 0
                failures[entries[index].program.name] = (code, earlier + 1)
                let next = entries[index].policy.ended(at: now)
                entries[index].startAt = next
                logger.warning(
                    "a part ended and is started again",
                    [
                        "part.name": .text(entries[index].program.name),
                        "part.exit_code": .integer(Int(code)),
                        "part.restart_in_seconds": .number(next - now),
                    ]
                )
            }
            guard !stopping, let startAt = entries[index].startAt, startAt <= now else { continue }
            do {
                try start(&entries[index])
            } catch {
                entries[index].startAt = entries[index].policy.ended(at: now)
                logger.error("a part does not start", ["error": .text(error.description)])
            }
        }
    }

    /// Stops everything, stage by stage, and waits until it is gone.
    func stop() {
        stopping = true
        for stage in ManagedProgram.Stage.allCases.sorted(by: >) {
            let members = entries.indices.filter { entries[$0].program.stage == stage }
            for index in members { entries[index].process?.signal(SIGTERM) }
            let deadline = Self.monotonicSeconds() + stopDeadline
            var killed: Set<Int> = []
            while members.contains(where: { entries[$0].process != nil }) {
                for index in members {
                    guard let process = entries[index].process else { continue }
                    if process.ended() != nil {
                        entries[index].process = nil
                    } else if Self.monotonicSeconds() > deadline, killed.insert(index).inserted {
                        logger.warning(
                            "a part did not stop in time and is killed",
                            ["part.name": .text(entries[index].program.name)]
                        )
                        process.signal(SIGKILL)
                    }
                }
                usleep(10_000)
            }
        }
    }

    private func start(_ entry: inout Entry) throws(OperationError) {
        entry.startAt = nil
        entry.process = try ChildProcess.start(
            entry.program.executable,
            arguments: entry.program.arguments,
            environment: entry.program.environment,
            logPath: entry.program.logPath
        )
        entry.policy.started(at: Self.monotonicSeconds())
    }

    static func monotonicSeconds() -> Double {
        Double(Timestamps.monotonicNanoseconds()) / 1e9
    }
}

/// SIGINT and SIGTERM, taken by waiting and not by a handler.
struct SignalWait {
    private var set = sigset_t()

    /// Blocks the signals for this thread and all that it makes later; call before anything else.
    init() {
        sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for a signal.
    ///
    /// - Parameter milliseconds: How long at most.
    /// - Returns: The signal's number, or nil when none came.
    mutating func wait(milliseconds: Int) -> Int32? {
        var time = timespec(
            tv_sec: milliseconds / 1000,
            tv_nsec: milliseconds % 1000 * 1_000_000
        )
        let number = sigtimedwait(&set, nil, &time)
        return number > 0 ? number : nil
    }
}
