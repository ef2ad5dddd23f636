internal import FoundationEssentials
internal import ServiceKit
internal import Synchronization
internal import Telemetry
internal import Web

/// Asks every service whether it is ready and answers `/ready` for all of them.
final class ReadyBoard: Sendable {
    /// How often services are asked.
    static let period = Duration.milliseconds(300)

    private struct State {
        var reasons: [String: String] = [:]
        var hasBeenReady = false
        var servers: [(name: String, url: String)] = []
    }

    private let state = Mutex(State())
    private let client = HTTPClient()

    init() {}

    /// Watches a service from now on; it is not ready until it says so.
    func watch(_ name: String, port: Int) {
        state.withLock { state in
            state.servers.append((name, "http://127.0.0.1:\(port)/ready"))
            state.reasons[name] = "starting"
        }
    }

    /// Says why a part is not ready, or with nil that it is; `up` itself is one.
    func set(_ part: String, notReady reason: String?) {
        state.withLock { state in
            state.reasons[part] = reason
            state.hasBeenReady = state.hasBeenReady || state.reasons.isEmpty
        }
    }

    /// What is not ready, by name.
    var reasons: [String: String] { state.withLock { $0.reasons } }

    /// Asks all services again and again until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            for (name, url) in state.withLock({ $0.servers }) {
                let reason = await reason(url)
                set(name, notReady: reason)
            }
            try? await Task.sleep(for: Self.period)
        }
    }

    private func reason(_ url: String) async -> String? {
        let limits = HTTPClientLimits(bodyBytes: 64 << 10, time: .seconds(2))
        do {
            let response = try await client.get(url, limits: limits)
            return response.status == 200 ? nil : Self.sentence(response)
        } catch {
            return "no answer"
        }
    }

    /// What an error's body says; services answer `{"error","code"}`.
    private static func sentence(_ response: HTTPClientResponse) -> String {
        let body = try? JSONObject(parsing: response.body)
        return (try? body?.string("error")) ?? "answers \(response.status)"
    }

    /// `/ready` for the gateway.
    var endpoint: Endpoint {
        Endpoint(.get, "/ready", access: .anyone, logLevel: .debug) { _ in
            let (all, hasBeenReady) = self.state.withLock { ($0.reasons, $0.hasBeenReady) }
            let reasons = all.sorted { $0.key < $1.key }
            let obstacle = hasBeenReady ? "not ready" : "starting"
            var json = JSONWriter()
            json.beginObject()
            json.member("status", reasons.isEmpty ? "ok" : obstacle)
            if !reasons.isEmpty {
                json.key("waiting_for")
                json.beginObject()
                for (name, reason) in reasons { json.member(name, reason) }
                json.endObject()
            }
            json.endObject()
            return .json(bytes: json.bytes, status: reasons.isEmpty ? 200 : 503)
        }
    }
}
