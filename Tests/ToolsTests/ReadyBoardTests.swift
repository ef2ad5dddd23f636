import Synchronization
import Testing
import Web

@testable import Operations

@Suite(.timeLimit(.minutes(1))) struct ReadyBoardTests {
    @Test func `says starting before, not ready after, and a part's own sentence`() async throws {
        let isReady = Mutex(false)
        let part = try HTTPServer(
            endpoints: [
                Endpoint(.get, "/ready", access: .anyone) { _ in
                    guard isReady.withLock({ $0 }) else {
                        throw HTTPError(
                            status: 503,
                            code: "service.not_ready",
                            message: "database: gone"
                        )
                    }
                    return .json(bytes: Array("{}".utf8))
                }
            ],
            configuration: HTTPServerConfiguration()
        )
        let board = ReadyBoard()
        board.set("up", notReady: "starting")
        board.watch("auth-1", port: try part.start())
        let asking = Task { await board.run() }
        defer { asking.cancel() }
        let server = try HTTPServer(
            endpoints: [board.endpoint],
            configuration: HTTPServerConfiguration()
        )
        let url = "http://127.0.0.1:\(try server.start())/ready"
        let gone = #""auth-1":"database: gone""#

        try await answer(url, 503, [#""status":"starting""#, gone, #""up":"starting""#])
        isReady.withLock { $0 = true }
        board.set("up", notReady: nil)
        try await answer(url, 200, [#"{"status":"ok"}"#])
        isReady.withLock { $0 = false }
        try await answer(url, 503, [#""status":"not ready""#, gone])
        await part.shutdown(within: .zero)
        try await answer(url, 503, [#""auth-1":"no answer""#])
        await server.shutdown(within: .zero)
    }

    /// Asks until it answers like this; the time limit ends a wait that never does.
    private func answer(_ url: String, _ status: Int, _ parts: [String]) async throws {
        let client = HTTPClient()
        while true {
            try Task.checkCancellation()
            let response = try await client.get(url)
            let body = String(decoding: response.body, as: UTF8.self)
            if response.status == status, parts.allSatisfy({ body.contains($0) }) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
