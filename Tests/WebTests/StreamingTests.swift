import Synchronization
import TestKit
import Testing

@testable import Web

/// What it costs a server that callers of an answer without end do not read.
@Suite(.timeLimit(.minutes(1))) struct StreamingTests {
    /// One piece for each tick, and a count of what its caller cost.
    private final class Ticks: StreamSource {
        static let pieceBytes = 8 * 1024

        private struct State {
            var ticks = 0
            var given = 0
            var questions = 0
            var wake: (@Sendable () -> Void)?
        }

        private let state = Mutex(State())

        /// Pieces that were handed over.
        var given: Int { state.withLock { $0.given } }
        /// How often the server asked.
        var questions: Int { state.withLock { $0.questions } }

        func begin(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

        func next() -> StreamPiece {
            state.withLock { state in
                state.questions += 1
                guard state.given < state.ticks else { return .wait }
                state.given += 1
                return .bytes(SharedBytes(Self.piece(state.given)))
            }
        }

        func tick() {
            let wake = state.withLock { state in
                state.ticks += 1
                return state.wake
            }
            wake?()
        }

        func end() {}

        /// Bytes of their own kind, so that the chunks around them can be told from them.
        static func piece(_ number: Int) -> [UInt8] {
            [UInt8](repeating: 0x80 | UInt8(number % 128), count: pieceBytes)
        }

        /// Reads the next pieces and compares them.
        static func expect(_ numbers: ClosedRange<Int>, from socket: RawSocket) async throws {
            let wanted = numbers.flatMap(piece)
            var found: [UInt8] = []
            while found.count < wanted.count {
                found += try await socket.someBytes().filter { $0 >= 0x80 }
            }
            #expect(found == wanted)
        }
    }

    @Test func `who stops reading is asked for nothing more, and goes on where they were`()
        async throws
    {
        let (stuck, lively) = (Ticks(), Ticks())
        func endpoint(_ path: String, _ source: Ticks) -> Endpoint {
            Endpoint(streaming: path, access: .anyone) { _ in
                StreamAnswer(headers: [("Content-Type", "text/event-stream")], source: source)
            }
        }
        try await withServer([endpoint("/stuck", stuck), endpoint("/lively", lively)]) { port, _ in
            let stopped = try await RawSocket(port: port, receiveBuffer: 4096)
            let reader = try await RawSocket(port: port)
            try await stopped.send(get("/stuck"))
            try await reader.send(get("/lively"))
            func tick(_ numbers: ClosedRange<Int>) async throws {
                for number in numbers {
                    stuck.tick()
                    lively.tick()
                    try await Ticks.expect(number...number, from: reader)
                }
            }
            try await tick(1...20)
            let (given, questions) = (stuck.given, stuck.questions)
            // The caller's own buffer, what the kernel takes beyond it, and the library's buffer.
            #expect((1...10).contains(given), "\(given * Ticks.pieceBytes) bytes wait")
            try await tick(21...120)
            #expect(stuck.given == given)
            #expect(stuck.questions == questions)
            try await Ticks.expect(1...120, from: stopped)
        }
    }
}
