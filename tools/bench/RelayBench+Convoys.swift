internal import LoadKit

extension RelayBench {
    /// Six seconds in which each client sends every two.
    private struct Ride {
        /// Seconds of the server's CPU for a position that a client got.
        let cost: Double
        /// Seconds from each fix's sending until the last member has it.
        let delays: [Double]
    }

    /// 100 convoys of 10 at their pace.
    static func convoys(_ fleet: LiveFleet) async throws -> Bool {
        let tokens = try await fleet.convoys(100, of: 10)
        let relay = try await fleet.start("relay", "relay-convoys")
        defer { relay.terminate() }
        let peer = try await fleet.startPeer()
        defer { peer?.master.terminate() }
        let (ours, theirs) = (LiveSockets(), LiveSockets())
        try ours.open(port: relay.port, tokens.map { ("/api/live", $0) })
        if let peer {
            try theirs.open(port: peer.port, tokens.indices.map { ("/live/c\($0 / 10)", "x") })
        }
        try settle(ours)
        var (mine, other): ([Ride], [Ride]) = ([], [])
        for round in 0..<pairs {
            let stamp = 1 + round * 100_000
            mine.append(try ride(relay, ours, from: stamp))
            if let peer { other.append(try ride(peer.master, theirs, from: stamp)) }
        }
        print("100 convoys of 10, a fix of each every 2 s; median of \(pairs)")
        let p99 = report("relay", mine, "   (bar: p99 50)")
        guard !other.isEmpty else {
            print("  no peer: run scripts/bootstrap --tests")
            return p99 <= 0.05
        }
        _ = report("nchan", other, "")
        let ratio = BenchText.median(zip(mine, other).map { $0.cost / $1.cost })
        print("  relay / nchan        \(BenchText.hundredths(ratio))   (bar: 1.1)")
        return p99 <= 0.05 && ratio <= 1.1
    }

    /// Prints what a server's rides were like.
    ///
    /// - Returns: What 99 of 100 fixes took to all members, in seconds.
    private static func report(_ name: String, _ rides: [Ride], _ bar: String) -> Double {
        let delays = rides.flatMap(\.delays).sorted()
        let (p50, p99) = (delays[delays.count / 2], delays[delays.count * 99 / 100])
        let cost = BenchText.median(rides.map(\.cost)) * 1e6
        print("  \(name)                \(BenchText.hundredths(cost)) us of CPU for a position")
        print(
            "    to all members     p50 \(BenchText.hundredths(p50 * 1000)) ms, "
                + "p99 \(BenchText.hundredths(p99 * 1000)) ms\(bar)"
        )
        return p99
    }

    private static func ride(
        _ server: LoadProcess,
        _ sockets: LiveSockets,
        from stamp: Int
    ) throws -> Ride {
        sockets.followsTimestamps = true
        let before = (server.cpuSeconds, sockets.positions)
        var sentAt: [Int: Double] = [:]
        let start = LoadRunner.now
        let total = sockets.count * 3
        for number in 0..<total {
            let due = start + 6 * Double(number) / Double(total)
            while LoadRunner.now < due { try sockets.work(milliseconds: 1) }
            sentAt[stamp + number] = LoadRunner.now
            // Far enough apart that no two of a convoy follow each other closely, which would be one frame.
            sockets.send((number * 377) % sockets.count, location(stamp: stamp + number))
        }
        let end = LoadRunner.now + 0.5
        while LoadRunner.now < end { try sockets.work(milliseconds: 10) }
        let positions = max(1, sockets.positions - before.1)
        let delays = sentAt.compactMap { stamp, sent in
            sockets.arrivals[stamp].map { $0 - sent }
        }
        guard delays.count == total else {
            throw LoadFailure("\(total - delays.count) of \(total) fixes came to nobody")
        }
        return Ride(
            cost: max(server.cpuSeconds - before.0, 0.01) / Double(positions),
            delays: delays
        )
    }
}
