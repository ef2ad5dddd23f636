internal import CompanionKit
internal import FoundationEssentials

extension Member {
    /// `companion watch`: tells what happens in a group.
    func watch() async throws {
        let group = try await group()
        await follow(group)
        try await connected {
            _ = try await within(options.duration) {
                await withTaskGroup { tasks in
                    tasks.addTask { await tellSnapshots(group) }
                    tasks.addTask { await tellEvents(group) }
                }
            }
        }
    }

    private func tellSnapshots(_ group: CompanionGroup) async {
        var before = RelaySnapshot()
        for await snapshot in await relay.snapshots() {
            tell(before, snapshot, group)
            before = snapshot
        }
    }

    private func tellEvents(_ group: CompanionGroup) async {
        for await event in relay.placeEvents() {
            let name = Self.name(event.riderID, group)
            say(CircleNotifyPolicy.text(name, event.kind, place: event.placeName))
        }
    }

    /// Tells what changed between two snapshots.
    private func tell(_ before: RelaySnapshot, _ now: RelaySnapshot, _ group: CompanionGroup) {
        if now.isConnected != before.isConnected {
            say(now.isConnected ? "connected" : "not connected")
        }
        if let error = now.lastError, error != before.lastError { say(error) }
        for (id, peer) in now.peers.sorted(by: { $0.key.description < $1.key.description })
        where before.peers[id] != peer {
            let speed = peer.speedKilometersPerHour.map { " \(Int($0.rounded())) km/h" } ?? ""
            say("\(Self.name(id, group)) \(Self.text(peer.coordinate))\(speed)")
        }
        for id in before.peers.keys.sorted(by: { $0.description < $1.description })
        where now.peers[id] == nil {
            say("\(Self.name(id, group)) is gone")
        }
        if now.spin?.candidates != before.spin?.candidates, let spin = now.spin {
            tell(spin)
        }
    }

    func tell(_ spin: SpinRound) {
        if let decision = spin.decision { return say("decided: \(Self.text(decision))") }
        for (index, candidate) in spin.candidates.enumerated() {
            say("candidate \(index + 1): \(Self.text(candidate))")
        }
    }

    // MARK: - Words

    static func name(_ id: AccountID, _ group: CompanionGroup) -> String {
        group.username(of: id) ?? id.description
    }

    static func text(_ candidate: SpinCandidate) -> String {
        [candidate.name, text(candidate.coordinate)].compactMap { $0 }.joined(separator: " ")
    }

    /// Degrees with five decimals, about a metre.
    static func text(_ coordinate: Coordinate) -> String {
        "\(fixed(coordinate.latitude)),\(fixed(coordinate.longitude))"
    }

    private static func fixed(_ degrees: Double) -> String {
        let units = Int((degrees.magnitude * 100_000).rounded())
        let fraction = String(units % 100_000)
        let zeros = String(repeating: "0", count: 5 - fraction.count)
        return "\(degrees < 0 && units > 0 ? "-" : "")\(units / 100_000).\(zeros)\(fraction)"
    }
}
