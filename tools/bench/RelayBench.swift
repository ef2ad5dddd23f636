internal import Glibc
internal import LoadKit
internal import Telemetry

/// Live positions to many sockets, beside nginx with nchan.
///
/// Both are one process; the clients are the same. What is counted is positions that clients got for a
/// second of the server's CPU: nchan brings each in a frame of its own, a relay merges those of a turn. The
/// bars (architecture, section 11): three times nchan's in bursts of 16 to 1,000 sockets of one convoy;
/// with 100 convoys of 10 at two seconds no more than 1.1 of nchan's CPU for each, and 50 ms for 99 of 100
/// fixes to all members; 6 kB of user memory for an idle socket.
enum RelayBench {
    private static let pairs = 5
    private static let burst = 16

    static func run() async -> Int32 {
        do {
            return try await measure() ? 0 : 1
        } catch {
            print("bench relay: \(error)")
            return 1
        }
    }

    private static func measure() async throws -> Bool {
        let fleet = try await LiveFleet(programs: IngestBench.programs())
        let groups = try await fleet.start("groups", "groups-1")
        defer { groups.terminate() }
        var isGood = try await idle(fleet)
        for (count, bursts, isBar) in [(1000, 60, true), (10_000, 6, false)] {
            isGood = try await convoy(fleet, sockets: count, bursts: bursts, isBar: isBar) && isGood
        }
        return try await steady(fleet) && isGood
    }

    // MARK: - Idle sockets

    private static func idle(_ fleet: LiveFleet) async throws -> Bool {
        let count = 10_000
        let tokens = try await fleet.convoys(count / 10, of: 10)
        let relay = try await fleet.start("relay", "relay-idle")
        defer { relay.terminate() }
        let sockets = LiveSockets()
        // The first ones pay for what every process needs once.
        try sockets.open(port: relay.port, tokens.prefix(100).map { ("/api/live", $0) })
        try settle(sockets)
        let before = relay.residentBytes
        let start = LoadRunner.now
        try sockets.open(port: relay.port, tokens.dropFirst(100).map { ("/api/live", $0) })
        let took = LoadRunner.now - start
        try settle(sockets)
        let each = (relay.residentBytes - before) / Double(count - 100)
        print("\(count) idle sockets in convoys of 10, \(text(took)) s to open")
        print("  user memory       \(text(each / 1000)) kB for each   (bar: 6)")
        return each <= 6000
    }

    private static func settle(_ sockets: LiveSockets) throws {
        let end = LoadRunner.now + 2
        while LoadRunner.now < end { try sockets.work(milliseconds: 50) }
    }

    // MARK: - Bursts

    private static func convoy(
        _ fleet: LiveFleet,
        sockets count: Int,
        bursts: Int,
        isBar: Bool
    ) async throws -> Bool {
        let tokens = try await fleet.convoys(1, of: count)
        let relay = try await fleet.start("relay", "relay-\(count)")
        defer { relay.terminate() }
        let peer = try await fleet.startPeer()
        defer { peer?.master.terminate() }
        let (ours, theirs) = (LiveSockets(), LiveSockets())
        func openOurs() throws { try ours.open(port: relay.port, tokens.map { ("/api/live", $0) }) }
        func openTheirs() throws {
            guard let peer else { return }
            try theirs.open(port: peer.port, tokens.map { _ in ("/live/all", "x") })
        }
        func pair() throws -> (mine: Double, other: Double?) {
            let mine = ours.count > 0 ? try burst(relay, ours, bursts, receivers: count - 1) : 0
            guard let peer, theirs.count > 0 else { return (mine, nil) }
            return (mine, try burst(peer.master, theirs, bursts, receivers: count))
        }
        var (mine, other): ([Double], [Double]) = ([], [])
        let isInterleaved = 2 * count + 200 < ours.descriptorLimit
        try openOurs()
        if isInterleaved { try openTheirs() }
        try settle(ours)
        for _ in 0..<pairs {
            let result = try pair()
            mine.append(result.mine)
            if let peer = result.other { other.append(peer) }
        }
        if !isInterleaved {
            // The system allows too few descriptors for both at once.
            ours.closeAll()
            try openTheirs()
            for _ in 0..<pairs { if let peer = try pair().other { other.append(peer) } }
        }
        let ratios = zip(mine, other).map { $0 / $1 }
        print("\(count) sockets in one convoy, bursts of \(burst); median of \(pairs)")
        print("  positions for a second of CPU   \(text(median(mine) / 1000)) k")
        print("  frames they came in             \(ours.frames) for \(ours.positions) positions")
        guard !ratios.isEmpty else {
            print("  no peer: run scripts/bootstrap --tests")
            return true
        }
        print("  nchan                           \(text(median(other) / 1000)) k")
        print(
            "  relay / nchan                   \(text(median(ratios)))\(isBar ? "   (bar: 3)" : "")"
        )
        return !isBar || median(ratios) >= 3
    }

    /// Positions delivered for a second of the server's CPU.
    private static func burst(
        _ server: LoadProcess,
        _ sockets: LiveSockets,
        _ bursts: Int,
        receivers: Int
    ) throws -> Double {
        let before = (server.cpuSeconds, sockets.positions)
        var wanted = sockets.positions
        for number in 0..<bursts {
            for index in 0..<burst {
                let sender = (number * burst + index) % sockets.count
                sockets.send(sender, location(serial: number * burst + index))
            }
            wanted += burst * receivers
            guard try sockets.work(untilPositions: wanted) else {
                throw LoadFailure("\(wanted - sockets.positions) positions never came")
            }
        }
        let spent = max(server.cpuSeconds - before.0, 0.01)
        return Double(sockets.positions - before.1) / spent
    }

    // MARK: - Convoys at their pace

    private static func steady(_ fleet: LiveFleet) async throws -> Bool {
        let tokens = try await fleet.convoys(100, of: 10)
        let relay = try await fleet.start("relay", "relay-steady")
        defer { relay.terminate() }
        let peer = try await fleet.startPeer()
        defer { peer?.master.terminate() }
        let ours = LiveSockets()
        try ours.open(port: relay.port, tokens.map { ("/api/live", $0) })
        let theirs = LiveSockets()
        if let peer {
            try theirs.open(port: peer.port, tokens.indices.map { ("/live/c\($0 / 10)", "x") })
        }
        try settle(ours)
        ours.followsTimestamps = true
        var (mine, ratios, latencies): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<pairs {
            let result = try ride(relay, ours, base: 1 + round * 100_000)
            mine.append(result.cpu)
            latencies += result.latencies
            guard let peer else { continue }
            ratios.append(result.cpu / (try ride(peer.master, theirs, base: 1).cpu))
        }
        latencies.sort()
        let (p50, p99) = (latencies[latencies.count / 2], latencies[latencies.count * 99 / 100])
        print("100 convoys of 10, a fix of each every 2 s; median of \(pairs)")
        print("  CPU for a position   \(text(median(mine) * 1e6)) us")
        print(
            "  to all members       p50 \(text(p50 * 1000)) ms, p99 \(text(p99 * 1000)) ms   (bar: p99 50)"
        )
        guard !ratios.isEmpty else { return p99 <= 0.05 }
        print("  relay / nchan        \(text(median(ratios)))   (bar: 1.1)")
        return p99 <= 0.05 && median(ratios) <= 1.1
    }

    /// Six seconds in which each client sends every two.
    private static func ride(
        _ server: LoadProcess,
        _ sockets: LiveSockets,
        base: Int
    ) throws -> (cpu: Double, latencies: [Double]) {
        let before = (server.cpuSeconds, sockets.positions)
        var sentAt: [Int: Double] = [:]
        let start = LoadRunner.now
        let total = sockets.count * 3
        for number in 0..<total {
            let due = start + 6 * Double(number) / Double(total)
            while LoadRunner.now < due {
                try sockets.work(milliseconds: 1)
            }
            sentAt[base + number] = LoadRunner.now
            sockets.send((number * 7) % sockets.count, location(serial: base + number))
        }
        let end = LoadRunner.now + 0.5
        while LoadRunner.now < end { try sockets.work(milliseconds: 10) }
        let positions = max(1, sockets.positions - before.1)
        let latencies = sentAt.compactMap { serial, sent in
            sockets.arrivals[serial].map { $0 - sent }
        }
        return (max(server.cpuSeconds - before.0, 0.01) / Double(positions), latencies)
    }

    // MARK: - Details

    private static func location(serial: Int) -> String {
        "{\"type\":\"location\",\"lat\":47.60621,\"lon\":-122.33207,\"headingDeg\":90.5,\"speedKmh\":31.4,"
            + "\"accuracyM\":4.5,\"ts\":\(serial + 1)}"
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    private static func text(_ value: Double) -> String { String((value * 100).rounded() / 100) }
}
