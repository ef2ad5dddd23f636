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
    /// What can be measured alone.
    private enum Part: String, CaseIterable {
        /// Memory of 10,000 idle sockets.
        case idle
        /// Bursts to 1,000 sockets.
        case bursts
        /// Bursts to 10,000 sockets.
        case crowd
        /// Convoys at their pace.
        case convoys
    }

    static let pairs = 5

    /// - Parameter names: What is measured; everything by default.
    /// - Returns: The exit status; 1 when a bar is missed.
    static func run(_ names: [String]) async -> Int32 {
        let parts = names.compactMap(Part.init)
        guard parts.count == names.count else {
            print("usage: bench relay [\(Part.allCases.map(\.rawValue).joined(separator: "|"))]...")
            return 2
        }
        do {
            return try await measure(parts.isEmpty ? Part.allCases : parts) ? 0 : 1
        } catch {
            print("bench relay: \(error)")
            return 1
        }
    }

    private static func measure(_ parts: [Part]) async throws -> Bool {
        let fleet = try await LiveFleet(programs: IngestBench.programs())
        let groups = try await fleet.start("groups", "groups-1")
        defer { groups.terminate() }
        var isGood = true
        for part in parts {
            let isKept =
                switch part {
                case .idle: try await idle(fleet)
                case .bursts: try await Bursts(sockets: 1000, bursts: 60, bar: 3).run(fleet)
                case .crowd: try await Bursts(sockets: 10_000, bursts: 6, bar: nil).run(fleet)
                case .convoys: try await convoys(fleet)
                }
            isGood = isKept && isGood
        }
        return isGood
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
        print("\(count) idle sockets in convoys of 10, \(BenchText.hundredths(took)) s to open")
        print("  user memory       \(BenchText.hundredths(each / 1000)) kB for each   (bar: 6)")
        return each <= 6000
    }

    static func settle(_ sockets: LiveSockets) throws {
        let end = LoadRunner.now + 2
        while LoadRunner.now < end { try sockets.work(milliseconds: 50) }
    }

    // MARK: - Details

    /// A fix that is known by its moment.
    ///
    /// - Parameter stamp: Positive, as a relay takes another one for the present.
    /// - Returns: The frame's text.
    static func location(stamp: Int) -> String {
        "{\"type\":\"location\",\"lat\":47.60621,\"lon\":-122.33207,\"headingDeg\":90.5,\"speedKmh\":31.4,"
            + "\"accuracyM\":4.5,\"ts\":\(stamp)}"
    }
}
