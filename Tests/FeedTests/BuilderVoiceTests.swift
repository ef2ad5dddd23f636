import Messages
import Synchronization
import Testing

@testable import FeedService

/// What a builder has said does not outlive its turn on the bus.
@Suite struct BuilderVoiceTests {
    private final class Stage: Sendable {
        let epoch = Mutex<UInt64?>(4)
        /// What the bus keeps, and each retraction with a minus.
        let kept = Mutex<[String]>([])
        let retracted = Mutex<[String]>([])

        var voice: BuilderVoice {
            BuilderVoice(
                epoch: { self.epoch.withLock { $0 } },
                publish: { message in
                    self.kept.withLock { $0.append(message.topic + "/" + message.key) }
                },
                retract: { topic, key in
                    self.retracted.withLock { $0.append(topic + "/" + key) }
                }
            )
        }

        func turn(_ epoch: UInt64?) { self.epoch.withLock { $0 = epoch } }
        var said: [String] { kept.withLock { $0 } }
        var takenBack: [String] { retracted.withLock { $0.sorted() } }
    }

    private let messages = [
        FeedPublisher.Message(topic: BusTopics.built, key: "vehicle-positions", body: [1]),
        FeedPublisher.Message(topic: BusTopics.built, key: "trip-updates", body: [2]),
        FeedPublisher.Message(topic: BusTopics.trusted, key: "", body: [3]),
    ]

    @Test func `a turn's states are taken back once when it is over`() {
        let stage = Stage()
        let voice = stage.voice
        voice.fallSilent()
        voice.tell(messages, of: 4)
        voice.tell([messages[0]], of: 4)
        #expect(stage.said.count == 4)
        voice.fallSilent()
        #expect(stage.takenBack.isEmpty)
        stage.turn(nil)
        voice.fallSilent()
        voice.fallSilent()
        #expect(stage.takenBack == ["built/trip-updates", "built/vehicle-positions", "trusted/"])
    }

    @Test(arguments: [nil, 3, 5] as [UInt64?])
    func `nothing is told of a turn that is over`(now: UInt64?) {
        let stage = Stage()
        let voice = stage.voice
        stage.turn(now)
        voice.tell(messages, of: 4)
        #expect(stage.said.isEmpty)
        voice.fallSilent()
        #expect(stage.takenBack.isEmpty)
    }

    @Test func `what the next turn has replaced stays`() {
        let stage = Stage()
        let voice = stage.voice
        voice.tell(messages, of: 4)
        stage.turn(5)
        voice.tell([messages[0]], of: 5)
        voice.fallSilent()
        #expect(stage.takenBack.isEmpty)
        stage.turn(6)
        voice.fallSilent()
        #expect(stage.takenBack.count == 3)
    }
}
