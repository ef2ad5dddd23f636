internal import Database
internal import Messages
internal import ServiceKit
internal import Transit
internal import Web

/// The low-cadence position path: a circle's fixes, and one fix for every group (spec 1.4).
struct FixEndpoints: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        [
            api.endpoint(.post, "/api/circles/{id}/positions", handler: store),
            api.endpoint(.get, "/api/circles/{id}/positions", handler: list),
            api.endpoint(.post, "/api/me/fix", handler: storeEverywhere),
        ]
    }

    /// Stores and shows nothing live; what a paused member sends is thrown away, also when the pause ends
    /// before the call has its turn.
    private func store(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let fix = try MemberFix(try request.jsonObject(), now: api.clock.milliseconds())
        let groupID = try request.groupID
        try await api.transaction { connection in
            let pass = try Gate.pass(
                caller.id,
                to: groupID,
                holding: .membership,
                where: \.storesFixes,
                on: connection
            )
            if pass.shares(receivedAt: fix.receivedAtMilliseconds) {
                try FixStore.store(fix, pass)
            }
        }
        return .empty()
    }

    private func list(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let groupID = try request.groupID
        let fixes = try await api.reading { connection in
            try Gate.read(FixLook.look, as: caller.id, from: groupID, on: connection)
        }
        return .json { json in fixes.write(to: &json) }
    }

    private func storeEverywhere(
        _ caller: Account,
        _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let fix = try MemberFix(try request.jsonObject(), now: api.clock.milliseconds())
        let targets = try await api.transaction { connection in
            try FixStore.storeEverywhere(
                [AccountFix(accountID: caller.id, fix: fix)],
                on: connection
            )
        }
        api.live.show(
            LiveFix(
                trace: request.trace,
                accountID: caller.id,
                fix: fix,
                ttlSeconds: LiveNews.fixTTLSeconds,
                targets: targets.map { target in
                    LiveFix.Target(
                        groupID: target.groupID,
                        version: UInt64(clamping: target.version),
                        sharesWhileConnected: target.kind.sharesWhileConnected
                    )
                },
                session: request.principal.map { SessionMark(of: $0) }
            )
        )
        return .empty()
    }
}
