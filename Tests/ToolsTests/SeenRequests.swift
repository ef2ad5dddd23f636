import Synchronization
import Web

/// What arrived at the server behind the gateway.
final class SeenRequests: Sendable {
    struct Seen: Sendable {
        /// The path parameter, decoded; empty where there is none.
        let trip: String
        /// The value of `X-A`.
        let mark: String
        let body: String
        /// The caller as the server understands it.
        let address: String
    }

    private let all = Mutex<[Seen]>([])

    var requests: [Seen] { all.withLock { $0 } }

    func forget() { all.withLock { $0 = [] } }

    var endpoints: [Endpoint] {
        [
            endpoint(.get, "/api/health"),
            endpoint(.post, "/api/health"),
            Endpoint(
                .post,
                "/api/v1/auth/locked",
                access: .roles([.admin]),
                inline: { _ in .empty(200) }
            ),
            endpoint(.get, "/api/v1/auth/trips/{id}/status"),
        ]
    }

    private func endpoint(_ method: HTTPMethod, _ path: String) -> Endpoint {
        Endpoint(
            method,
            path,
            access: .anyone,
            inline: { [self] request in
                let seen = Seen(
                    trip: request.parameters["id"] ?? "",
                    mark: request.headers.first("X-A") ?? "",
                    body: String(decoding: request.body, as: UTF8.self),
                    address: request.clientAddress
                )
                all.withLock { $0.append(seen) }
                return .empty(200)
            }
        )
    }
}
