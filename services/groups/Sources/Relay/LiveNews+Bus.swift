internal import Bus
internal import Messages
internal import ServiceKit

extension LiveNews.Transport {
    /// The relays of a fleet, over its bus.
    init(_ bus: Bus) {
        self.init(
            publish: { topic, key, body, trace in
                bus.publish(topic: topic, key: key, body: body, retain: false, trace: trace)
            },
            relays: { bus.instances(of: ServiceNames.relay) },
            ask: RelayRound.asking(over: bus)
        )
    }
}
