internal import Messages
internal import Synchronization

/// How the polling of agencies' feeds goes, as the feed's builder last said.
final class AgencyBoard: Sendable {
    private struct State {
        var newest: (epoch: UInt64, sequence: UInt64) = (0, 0)
        var feeds: [AgencyFeeds.Feed] = []
    }

    private let state = Mutex(State())

    /// The configured feeds; none before the first word.
    var feeds: [AgencyFeeds.Feed] { state.withLock { $0.feeds } }

    /// Hears a publication; an older one than the last is dropped, and so is what does not decode.
    ///
    /// - Returns: false when it was not understood.
    @discardableResult
    func heard(_ body: [UInt8]) -> Bool {
        guard let message = try? AgencyFeeds(decoding: body) else { return false }
        state.withLock { state in
            guard (message.epoch, message.sequence) > state.newest else { return }
            state.newest = (message.epoch, message.sequence)
            state.feeds = message.feeds
        }
        return true
    }
}
