import Foundation
import Synchronization

@testable import CompanionKit

/// Gives prepared answers, one after the other; the last one stays.
final class ScriptedTransport: CompanionTransport {
    private struct State {
        var answers: [Result<CompanionResponse, CompanionError>]
        var requests: [CompanionRequest] = []
    }

    private let state: Mutex<State>

    init(_ answers: Result<CompanionResponse, CompanionError>...) {
        state = Mutex(State(answers: answers))
    }

    var requests: [CompanionRequest] { state.withLock { $0.requests } }

    func send(_ request: CompanionRequest, serverURL: URL) async throws -> CompanionResponse {
        // Room for callers that come together.
        await Task.yield()
        return try state.withLock { state in
            state.requests.append(request)
            let answer = state.answers[0]
            if state.answers.count > 1 { state.answers.removeFirst() }
            return try answer.get()
        }
    }
}

extension Result where Success == CompanionResponse, Failure == CompanionError {
    static func answer(_ status: Int, _ body: String = "") -> Self {
        .success(CompanionResponse(status: status, body: Data(body.utf8)))
    }
}
