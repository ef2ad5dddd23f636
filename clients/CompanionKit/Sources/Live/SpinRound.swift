/// A convoy's vote on where to ride.
///
/// Two or three candidates are a ballot. One is the decision: every phone that sees it takes it.
/// Only the phone that opened the round closes it, so phones that see different peers cannot come
/// to different ends.
public struct SpinRound: Sendable, Equatable {
    /// Candidates of an offer.
    public static let candidateLimit = 3
    /// Characters of a candidate's name.
    public static let nameLimit = 80

    /// What to do now.
    public enum Outcome: Sendable, Equatable {
        /// Nothing yet.
        case wait
        /// Ride there.
        case commit(SpinCandidate)
        /// Everyone has voted: announce the candidate at this index.
        case close(Int)
    }

    /// What is on the table.
    public var candidates: [SpinCandidate]
    /// Whether this phone opened the round.
    public var isMine: Bool
    /// The votes so far: an index each.
    public var votes: [AccountID: Int] = [:]

    /// Makes a round without votes.
    public init(candidates: [SpinCandidate], isMine: Bool) {
        self.candidates = candidates
        self.isMine = isMine
    }

    /// The destination, once it is decided.
    public var decision: SpinCandidate? { candidates.count == 1 ? candidates[0] : nil }

    /// The candidate with most votes; among equals, and without votes, the first.
    ///
    /// Votes for candidates that nobody offered are ignored.
    public var leader: Int {
        var counts = Array(repeating: 0, count: candidates.count)
        for index in votes.values where counts.indices.contains(index) { counts[index] += 1 }
        let most = counts.max() ?? 0
        return counts.firstIndex(of: most) ?? 0
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - peers: Who is live in the convoy besides this phone.
    ///   - me: Who this phone is, nil when nobody is signed in: then nobody waits for it.
    /// - Returns: What to do now.
    public func outcome(peers: Set<AccountID>, me: AccountID?) -> Outcome {
        if let decision { return .commit(decision) }
        var expected = peers
        if let me { expected.insert(me) }
        guard isMine, !expected.isEmpty, expected.allSatisfy({ votes[$0] != nil }) else {
            return .wait
        }
        return .close(leader)
    }
}
