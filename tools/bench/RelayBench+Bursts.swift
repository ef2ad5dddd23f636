internal import LoadKit

extension RelayBench {
    /// Bursts of 16 fixes to all sockets of one convoy.
    struct Bursts {
        private static let size = 16

        /// What five times so many bursts brought.
        private struct Outcome {
            /// Positions for a second of the server's CPU.
            var rates: [Double] = []
            /// Seconds from the first fix of a burst until all have all of it.
            var delays: [Double] = []
        }

        let sockets: Int
        let bursts: Int
        /// How many times the peer's rate ours has to be; nil for no bar.
        let bar: Double?

        func run(_ fleet: LiveFleet) async throws -> Bool {
            let tokens = try await fleet.convoys(1, of: sockets)
            let relay = try await fleet.start("relay", "relay-\(sockets)")
            defer { relay.terminate() }
            let peer = try await fleet.startPeer()
            defer { peer?.master.terminate() }
            let (ours, theirs) = (LiveSockets(), LiveSockets())
            var (mine, other) = (Outcome(), Outcome())
            func openTheirs() throws {
                guard let peer else { return }
                try theirs.open(port: peer.port, tokens.map { _ in ("/live/all", "x") })
            }
            func burstTheirs() throws {
                guard let peer, theirs.count > 0 else { return }
                try burst(peer.master, theirs, receivers: sockets, &other)
            }
            try ours.open(port: relay.port, tokens.map { ("/api/live", $0) })
            // The system may allow too few descriptors for both at once.
            let isInterleaved = 2 * sockets + 200 < ours.descriptorLimit
            if isInterleaved { try openTheirs() }
            try RelayBench.settle(ours)
            for _ in 0..<RelayBench.pairs {
                try burst(relay, ours, receivers: sockets - 1, &mine)
                try burstTheirs()
            }
            let (frames, positions) = (ours.frames, ours.positions)
            if !isInterleaved {
                ours.closeAll()
                try openTheirs()
                for _ in 0..<RelayBench.pairs { try burstTheirs() }
            }
            print(
                "\(sockets) sockets in one convoy, bursts of \(Self.size); median of \(RelayBench.pairs)"
            )
            print("  frames they came in   \(frames) for \(positions) positions")
            report("relay", mine)
            return compare(mine, other)
        }

        private func compare(_ mine: Outcome, _ other: Outcome) -> Bool {
            guard !other.rates.isEmpty else {
                print("  no peer: run scripts/bootstrap --tests")
                return true
            }
            report("nchan", other)
            let ratio = BenchText.median(zip(mine.rates, other.rates).map { $0 / $1 })
            let text = bar.map { "   (bar: \(BenchText.whole($0)))" } ?? ""
            print("  relay / nchan         \(BenchText.hundredths(ratio))\(text)")
            return bar.map { ratio >= $0 } ?? true
        }

        private func report(_ name: String, _ outcome: Outcome) {
            let delays = outcome.delays.sorted().map { $0 * 1000 }
            let rate = BenchText.hundredths(BenchText.median(outcome.rates) / 1000)
            print("  \(name)                 \(rate) k positions for a second of CPU")
            print(
                "    to all members      p50 \(BenchText.hundredths(delays[delays.count / 2])) ms, "
                    + "p99 \(BenchText.hundredths(delays[delays.count * 99 / 100])) ms, "
                    + "\(delays.count) bursts"
            )
        }

        private func burst(
            _ server: LoadProcess,
            _ sockets: LiveSockets,
            receivers: Int,
            _ outcome: inout Outcome
        ) throws {
            let before = (server.cpuSeconds, sockets.positions)
            var wanted = sockets.positions
            for number in 0..<bursts {
                let start = LoadRunner.now
                for index in 0..<Self.size {
                    let serial = number * Self.size + index
                    sockets.send(serial % sockets.count, RelayBench.location(stamp: serial + 1))
                }
                wanted += Self.size * receivers
                guard try sockets.work(untilPositions: wanted) else {
                    throw LoadFailure("\(wanted - sockets.positions) positions never came")
                }
                outcome.delays.append(LoadRunner.now - start)
            }
            let spent = max(server.cpuSeconds - before.0, 0.01)
            outcome.rates.append(Double(sockets.positions - before.1) / spent)
        }
    }
}
