internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/live`: a member's token, a WebSocket, and the socket goes to the relay's thread.
struct LiveEndpoint: Sendable {
    let mailbox: RelayMailbox
    let verifier: TokenVerifier
    let count: SocketCount
    let openings: OpeningLimit
    let metrics: RelayMetrics

    var endpoint: Endpoint {
        Endpoint(upgrading: "/api/live", access: .roles([.member]), logLevel: .debug) { request in
            // The authorizer has admitted it; the socket needs what a principal does not carry.
            let token = request.headers.first("Authorization").map { String($0.dropFirst(7)) } ?? ""
            guard let claims = try? verifier.claims(of: token),
                let account = UniqueID(claims.subject)
            else { throw HTTPError.invalidToken }
            guard count.value < count.limit else {
                metrics.refusedSockets.add()
                throw HTTPError.relayFull
            }
            // A client that leaves before its 101 never gets there, so it is counted there alone.
            let answer = try WebSocketHandshake.answer(request) { socket in
                guard count.add() else { return RelayLoop.close(socket) }
                guard !mailbox.post(.accept(socket, account, claims)) else { return }
                RelayLoop.close(socket)
                count.remove(1)
            }
            guard openings.admits(account) else {
                metrics.refusedOpenings.add()
                throw HTTPError.tooManySockets
            }
            return answer
        }
    }
}

extension HTTPError {
    /// 429 when an account opens sockets too often.
    static let tooManySockets = HTTPError(
        status: 429,
        code: "rate.sockets",
        message: "too many connections of this account, try again",
        retryAfter: 1
    )

    /// 503 when a relay has as many sockets as it may.
    static let relayFull = HTTPError(
        status: 503,
        code: "relay.full",
        message: "this relay is full, try again",
        retryAfter: 2
    )
}
