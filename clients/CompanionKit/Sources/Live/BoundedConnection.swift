internal import ClientTransport
internal import Synchronization

/// A connection of an app's own socket, held to its promises: whatever it does, sending and closing
/// end in time, and listening ends with closing.
final class BoundedConnection: RelayConnection {
    /// A frame that cannot be sent for this long closes the connection.
    static let sendTimeout = Duration.seconds(10)
    /// A connection that does not close for this long is left to itself.
    static let closeTimeout = Duration.seconds(3)

    private struct State {
        var isClosed = false
        var reading: Task<String?, any Error>?
    }

    private let connection: any RelayConnection
    private let clock: any CompanionClock
    private let state = Mutex(State())

    init(_ connection: any RelayConnection, _ clock: any CompanionClock) {
        self.connection = connection
        self.clock = clock
    }

    func send(_ text: String) async throws {
        do {
            try await clock.deadline(Self.sendTimeout).run { [connection] in
                try await connection.send(text)
            }
        } catch is Deadline.Passed {
            await close()
            throw RelayError.failed("The live connection does not take anything")
        }
    }

    func receive() async throws -> String? {
        let deadline = clock.deadline(nil)
        let reading = Task { [connection] in
            try await deadline.run { try await connection.receive() }
        }
        let isClosed = state.withLock { state in
            state.reading = reading
            return state.isClosed
        }
        if isClosed { reading.cancel() }
        do {
            return try await reading.value
        } catch {
            guard state.withLock({ $0.isClosed }) else { throw error }
            return nil
        }
    }

    func close() async {
        let (reading, wasClosed) = state.withLock { state in
            defer { state.isClosed = true }
            return (state.reading, state.isClosed)
        }
        guard !wasClosed else { return }
        reading?.cancel()
        // A task of its own: a caller who was cancelled closes all the same.
        let closing = Task { [connection, clock] in
            try await clock.deadline(Self.closeTimeout).run { await connection.close() }
        }
        _ = await closing.result
    }
}
