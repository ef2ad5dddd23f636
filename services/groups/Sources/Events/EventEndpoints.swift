internal import Database
internal import Messages
internal import ServiceKit
internal import Transit
internal import Web

/// `/api/circles/{id}/events`: arrivals and departures (spec 1.5).
struct EventEndpoints: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        [
            api.endpoint(.post, "/api/circles/{id}/events", handler: record),
            api.endpoint(.get, "/api/circles/{id}/events", handler: list),
        ]
    }

    /// Files an event, or answers a repeat as the first time.
    private func record(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let report = try ReportedEvent(
            try request.jsonObject(),
            now: api.clock.milliseconds()
        )
        let groupID = try request.groupID
        let recorded = try await api.transaction { connection -> EventStore.Recorded? in
            let (pass, group) = try Gate.passToLockedGroup(
                caller.id,
                to: groupID,
                where: \.hasPlaces,
                on: connection
            )
            return try EventStore.record(report, pass, in: group)
        }
        guard let recorded else { return .empty() }
        if recorded.isNew { api.live.show(notice(recorded.event, groupID, request)) }
        return .json { json in recorded.event.write(to: &json) }
    }

    private func notice(
        _ event: PlaceEvent,
        _ groupID: UniqueID,
        _ request: HTTPRequest
    ) -> PlaceEventNotice {
        PlaceEventNotice(
            trace: request.trace,
            groupID: groupID,
            accountID: event.accountID,
            placeID: event.placeID,
            placeName: event.placeName,
            kind: event.kind.name,
            timestampMilliseconds: event.timestampMilliseconds,
            sequence: UInt64(clamping: event.sequence)
        )
    }

    private func list(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let since = try request.wholeNumber("since") ?? 0
        let after = try request.wholeNumber("after") ?? 0
        let groupID = try request.groupID
        let events = try await api.reading { connection in
            try Gate.read(
                EventLook.look,
                as: caller.id,
                from: groupID,
                [.int64(since), .int64(after)],
                on: connection
            )
        }
        return .json { json in events.write(to: &json) }
    }
}
