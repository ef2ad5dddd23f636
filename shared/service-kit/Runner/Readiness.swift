internal import Synchronization

/// Whether a process can do its job now.
public enum Readiness: Sendable, Equatable {
    /// It can.
    case ready
    /// It cannot, for the reason given in a short sentence.
    case notReady(String)
    /// The service has no behaviour yet; a later version brings it.
    case notBuilt
}

/// What `/ready` answers: ready when every part is.
public final class ReadinessBoard: Sendable {
    private struct State {
        var reasons: [String: String] = [:]
        var checks: [@Sendable () -> Readiness] = []
        var isBuilt = true
    }

    private let state = Mutex(State())

    /// Makes a board on which everything is ready.
    public init() {}

    /// Says that a part cannot do its job, or with nil that it can again.
    ///
    /// - Parameters:
    ///   - part: The part's name, such as `schedule`.
    ///   - reason: A short sentence; nil when the part is ready.
    public func set(_ part: String, notReady reason: String?) {
        state.withLock { $0.reasons[part] = reason }
    }

    /// Adds a check that is asked at each `/ready`; it must not wait.
    public func check(_ check: @escaping @Sendable () -> Readiness) {
        state.withLock { $0.checks.append(check) }
    }

    /// The first reason by the parts' names, then the first of the checks.
    public var current: Readiness {
        let state = state.withLock { $0 }
        guard state.isBuilt else { return .notBuilt }
        if let first = state.reasons.min(by: { $0.key < $1.key }) {
            return .notReady("\(first.key): \(first.value)")
        }
        return state.checks.lazy.map { $0() }.first { $0 != .ready } ?? .ready
    }

    func setNotBuilt() { state.withLock { $0.isBuilt = false } }
}
