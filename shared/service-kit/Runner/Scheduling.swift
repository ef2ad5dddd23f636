internal import Glibc

/// How the system shares the processor between a service's threads and others (sched(7)).
public enum Scheduling: Sendable {
    /// A thread that wakes may interrupt the one that runs.
    case ordinary
    /// A thread that wakes lets the one that runs finish its turn.
    ///
    /// For a service that hands each request through several threads (decision 0077): what waits for a thread gathers, and is
    /// done in one turn. It costs no share of the processor.
    case batch

    /// Glibc's `SCHED_BATCH`, which it hides from all who do not ask for GNU's extensions.
    private static let batchPolicy: Int32 = 3

    /// Sets it for the calling thread and all that are started later by it; called before there are others.
    ///
    /// A process that was started with another policy keeps it: who set that knows more. Needs no privilege; where it is
    /// forbidden all the same, the service runs as before.
    func apply() {
        guard self == .batch, sched_getscheduler(0) == SCHED_OTHER else { return }
        var parameters = sched_param()
        parameters.sched_priority = 0
        _ = sched_setscheduler(0, Self.batchPolicy, &parameters)
    }
}
