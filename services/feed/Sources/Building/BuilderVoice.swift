internal import Synchronization

/// What a builder tells the other services while it is its turn, and takes back afterwards.
///
/// The bus keeps the last state of each key for who comes later. A process that starts takes what it hears for the
/// newest, so the states of a builder whose turn is over must not wait there for it.
final class BuilderVoice: Sendable {
    private struct Key: Hashable {
        let topic: String
        let key: String
    }

    private struct State {
        var epoch: UInt64 = 0
        var told: Set<Key> = []
    }

    private let epoch: @Sendable () -> UInt64?
    private let publish: @Sendable (FeedPublisher.Message) -> Void
    private let retract: @Sendable (_ topic: String, _ key: String) -> Void
    private let state = Mutex(State())

    /// Makes a voice that has said nothing.
    ///
    /// - Parameters:
    ///   - epoch: Under which this process builds now; nil while another does.
    ///   - publish: Tells the other services, and keeps it for who comes later.
    ///   - retract: Keeps a state no longer.
    init(
        epoch: @escaping @Sendable () -> UInt64?,
        publish: @escaping @Sendable (FeedPublisher.Message) -> Void,
        retract: @escaping @Sendable (_ topic: String, _ key: String) -> Void
    ) {
        self.epoch = epoch
        self.publish = publish
        self.retract = retract
    }

    /// Tells what was made in a turn, unless that is over.
    func tell(_ messages: [FeedPublisher.Message], of turn: UInt64) {
        state.withLock { state in
            guard epoch() == turn else { return }
            state.epoch = turn
            for message in messages {
                publish(message)
                state.told.insert(Key(topic: message.topic, key: message.key))
            }
        }
    }

    /// Takes back what was told in a turn that is over.
    func fallSilent() {
        state.withLock { state in
            guard !state.told.isEmpty, epoch() != state.epoch else { return }
            for key in state.told { retract(key.topic, key.key) }
            state.told = []
        }
    }
}
