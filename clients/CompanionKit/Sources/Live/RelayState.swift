internal import Foundation

/// What the relay's client knows: frames and wishes go in, what to do comes out.
///
/// No I/O and no clock.
struct RelayState: Sendable {
    /// What the connection must do about a frame.
    enum Action: Sendable, Equatable {
        case proceed
        /// The attempt is over.
        case endAttempt
        case announce(LivePlaceEvent)
        case play(VoiceChunk)
    }

    let features: CompanionFeatures
    /// Who this phone is.
    var me: AccountID?
    var isConnected = false
    var lastError: String?
    private(set) var convoy: LiveGroup?
    private(set) var circles: [LiveGroup] = []
    private(set) var peers: [AccountID: LivePeer] = [:]
    private(set) var talking: Set<AccountID> = []
    private(set) var spin: SpinRound?
    /// Groups that people have left since their positions last came.
    private var departures: [AccountID: Set<GroupID>] = [:]

    init(features: CompanionFeatures) { self.features = features }

    /// The groups to join, in the order of joining.
    var wanted: [LiveGroup] { (convoy.map { [$0] } ?? []) + circles }

    var spinOutcome: SpinRound.Outcome {
        guard let spin, let convoy else { return .wait }
        let peers = Set(self.peers.values.filter { $0.groupIDs.contains(convoy.id) }.map(\.id))
        return spin.outcome(peers: peers, me: me)
    }

    var snapshot: RelaySnapshot {
        var snapshot = RelaySnapshot()
        snapshot.isConnected = isConnected
        snapshot.lastError = lastError
        snapshot.peers = peers
        snapshot.talking = talking
        snapshot.spin = spin
        snapshot.spinOutcome = spinOutcome
        snapshot.convoyID = convoy?.id
        snapshot.circleIDs = Set(circles.map(\.id))
        return snapshot
    }

    // MARK: - Wishes

    /// Follows a convoy, or none.
    ///
    /// Another list of the same convoy's members is no change of convoy.
    mutating func setConvoy(_ group: LiveGroup?) {
        let before = convoy
        convoy = group
        guard before?.id != group?.id else { return refreshLists(of: group) }
        talking = []
        spin = nil
        // Those who are known to be in a followed circle stay; of the others nobody knows.
        peers = peers.compactMapValues { peer in
            let circles = circles.filter { $0.members?.contains(peer.id) == true }
            let staying = peer.groupIDs.intersection(circles.map(\.id))
            return peer.seen(through: staying)
        }
        forgetDepartures()
    }

    /// Follows circles in place of those of before.
    mutating func setCircles(_ groups: [LiveGroup]) {
        var seen: Set<GroupID> = []
        circles = groups.filter { seen.insert($0.id).inserted }
        let followed = Set(wanted.map(\.id))
        peers = peers.compactMapValues { $0.seen(through: $0.groupIDs.intersection(followed)) }
        forgetDepartures()
        for circle in circles { refreshLists(of: circle) }
    }

    /// Forgets one group, which the server refused.
    mutating func drop(_ group: GroupID) {
        if convoy?.id == group {
            setConvoy(nil)
        } else if circles.contains(where: { $0.id == group }) {
            setCircles(circles.filter { $0.id != group })
        }
    }

    /// Forgets everything, as when somebody else signs in.
    mutating func forgetAll() {
        convoy = nil
        circles = []
        clearDisplay()
        lastError = nil
    }

    /// Forgets what is shown, but not what is followed.
    mutating func clearDisplay() {
        isConnected = false
        peers = [:]
        talking = []
        spin = nil
        departures = [:]
    }

    /// The connection is gone; peers stay as long as their positions hold.
    mutating func disconnect() {
        isConnected = false
        talking = []
        spin = nil
    }

    /// Hides whose position is too old.
    mutating func prune(at uptime: Duration) {
        peers = peers.filter { $0.value.expiresAtUptime > uptime }
        talking = talking.filter { peers[$0] != nil }
    }

    // MARK: - Votes

    /// Puts a vote on the table that this phone opens.
    mutating func openSpin(_ candidates: [SpinCandidate]) {
        spin = SpinRound(candidates: candidates, isMine: true)
    }

    /// Records this phone's own vote.
    mutating func vote(_ index: Int) {
        guard let me else { return }
        spin?.votes[me] = index
    }

    // MARK: - Frames

    /// Takes in a frame.
    ///
    /// - Parameters:
    ///   - frame: What came.
    ///   - uptime: When.
    /// - Returns: What the connection must do about it.
    mutating func apply(_ frame: RelayFrame, at uptime: Duration) -> Action {
        switch frame {
        case .joined:
            isConnected = true
            lastError = nil
        case .error(let message, let group):
            return refuse(message, group)
        case .positions(let peers):
            for peer in peers { place(peer, at: uptime) }
        case .left(let rider, let group):
            leave(rider, group)
        case .placeEvent(let event):
            return .announce(event)
        case .spinOffer(let sender, let group, let candidates):
            guard isConvoys(group), sender == nil || sender != me else { break }
            spin = SpinRound(candidates: candidates, isMine: false)
        case .spinVote(let rider, let group, let index):
            if isConvoys(group) { spin?.votes[rider] = index }
        case .voiceStart(let rider):
            if features.voice { talking.insert(rider) }
        case .voiceEnd(let rider):
            talking.remove(rider)
        case .voice(let chunk):
            if features.voice { return .play(chunk) }
        case .authenticated:
            break
        }
        return .proceed
    }

    /// A frame of an older relay has no group; one of another group is not this convoy's business.
    private func isConvoys(_ group: GroupID?) -> Bool {
        convoy != nil && (group == nil || group == convoy?.id)
    }

    /// One group that is refused must not take the others down; a refusal of nothing in particular,
    /// or before anything works, ends the attempt (decision 30).
    private mutating func refuse(_ message: String, _ group: GroupID?) -> Action {
        lastError = message.isEmpty ? nil : message
        let hadJoined = isConnected
        guard let group else { return .endAttempt }
        drop(group)
        return hadJoined && !wanted.isEmpty ? .proceed : .endAttempt
    }

    private mutating func place(_ peer: RelayFrame.Peer, at uptime: Duration) {
        guard peer.riderID != me else { return }
        peers[peer.riderID] = LivePeer(
            id: peer.riderID,
            coordinate: peer.coordinate,
            headingDegrees: peer.headingDegrees,
            speedKilometersPerHour: peer.speedKilometersPerHour,
            measuredAt: Date(milliseconds: peer.timestampMilliseconds),
            expiresAtUptime: uptime + .seconds(peer.ttlSeconds),
            groupIDs: groups(showing: peer.riderID)
        )
    }

    /// The groups through which someone is seen whose position just came.
    ///
    /// Their lists say, but for what the person has left since. A position proves that some group
    /// carries them.
    private mutating func groups(showing rider: AccountID) -> Set<GroupID> {
        let listed = wanted.filter { $0.members?.contains(rider) ?? true }
        let possible = Set((listed.isEmpty ? wanted : listed).map(\.id))
        let left = departures[rider] ?? []
        guard !possible.isSubset(of: left) else {
            departures[rider] = nil
            return possible
        }
        return possible.subtracting(left)
    }

    private mutating func leave(_ rider: AccountID, _ group: GroupID?) {
        if group == nil || group == convoy?.id { talking.remove(rider) }
        guard let group else {
            peers[rider] = nil
            departures[rider] = nil
            return
        }
        departures[rider, default: []].insert(group)
        guard let peer = peers[rider] else { return }
        peers[rider] = peer.seen(through: peer.groupIDs.subtracting([group]))
        if peers[rider] == nil { talking.remove(rider) }
    }

    /// A fresh list of members outdates what was noted of them.
    private mutating func refreshLists(of group: LiveGroup?) {
        guard let group, let members = group.members else { return }
        for rider in members { departures[rider]?.remove(group.id) }
        peers = peers.compactMapValues { peer in
            members.contains(peer.id)
                ? peer : peer.seen(through: peer.groupIDs.subtracting([group.id]))
        }
    }

    private mutating func forgetDepartures() {
        let followed = Set(wanted.map(\.id))
        departures = departures.compactMapValues { groups in
            let rest = groups.intersection(followed)
            return rest.isEmpty ? nil : rest
        }
    }
}

extension LivePeer {
    /// The same person seen through fewer groups; nil when none is left.
    fileprivate func seen(through groups: Set<GroupID>) -> LivePeer? {
        guard !groups.isEmpty else { return nil }
        var peer = self
        peer.groupIDs = groups
        return peer
    }
}
