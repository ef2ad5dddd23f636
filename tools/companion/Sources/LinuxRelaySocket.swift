internal import CompanionKit
internal import FoundationEssentials
internal import Web

/// The kit's relay socket on Linux, where `URLSession` has no WebSockets: libcurl and libwslay.
struct LinuxRelaySocket: RelaySocket {
    let serverURL: URL

    func open(bearer: String) async throws -> any RelayConnection {
        var address = serverURL.absoluteString
        while address.hasSuffix("/") { address.removeLast() }
        do {
            return LinuxRelayConnection(
                client: try await WebSocketClient.open(
                    address + "/api/live",
                    headers: [("Authorization", "Bearer \(bearer)")]
                )
            )
        } catch {
            throw RelayError(error)
        }
    }
}

private struct LinuxRelayConnection: RelayConnection {
    let client: WebSocketClient

    func send(_ text: String) async throws {
        do { try client.send(text) } catch { throw RelayError(error) }
    }

    func receive() async throws -> String? {
        do { return try await client.receive() } catch { throw RelayError(error) }
    }

    func close() async { client.close() }
}

extension RelayError {
    fileprivate init(_ error: WebSocketClientError) {
        self =
            switch error {
            case .refused(let status): .refused(status: status)
            case .closed(let code, let reason): .closed(code: code, reason: reason)
            default: .failed("\(error)")
            }
    }
}
