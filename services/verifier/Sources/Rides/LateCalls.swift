internal import Synchronization
internal import Transit

/// Passes rides whose end is to be stored on to a part that is made after it.
final class FilingBox: Sendable {
    let action = Mutex<(@Sendable (UniqueID) async -> Void)?>(nil)

    func call(_ ride: UniqueID) async { await action.withLock { $0 }?(ride) }
}

/// Passes the loss of the connection on to a part that is made after it.
final class LossBox: Sendable {
    let action = Mutex<(@Sendable () -> Void)?>(nil)

    func call() { action.withLock { $0 }?() }
}
