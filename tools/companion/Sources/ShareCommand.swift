internal import CompanionKit

extension Member {
    /// `companion share`: is somewhere, as the kind of the group asks.
    func share() async throws {
        guard let start = options.start else { throw ToolError("say where with -at") }
        let feed = SimulatedFeed(options, start: start, clock: clock)
        let group = try await group()
        guard !options.isOnce else {
            try await api.postFix(feed.reading())
            return say("told every group that you share with")
        }
        let hub = LocationHub(feed: feed, clock: clock)
        switch group.kind {
        case .convoy: try await ride(group, hub)
        case .circle: try await dwell(hub)
        }
    }

    /// Shares over the relay, each two seconds.
    private func ride(_ group: CompanionGroup, _ hub: LocationHub) async throws {
        await follow(group)
        try await connected {
            try await within(options.duration) { await stream(hub) }
        }
    }

    /// Passes positions on until the task is cancelled.
    func stream(_ hub: LocationHub) async {
        let sink = await hub.attach(every: LocationHub.convoyInterval)
        for await fix in sink.fixes where await relay.sendLocation(fix.reading) {
            say("sent \(Self.text(fix.reading.coordinate))")
        }
        await hub.detach(sink)
    }

    /// Ticks as a circle's member does, arrivals and departures included.
    private func dwell(_ hub: LocationHub) async throws {
        let presence = CirclePresence(api: api, session: session, store: store)
        let sync = CircleSync(presence: presence, hub: hub, clock: clock)
        say("ticking: your position, and the places of your circles")
        _ = try await within(options.duration) { await sync.run() }
    }
}
