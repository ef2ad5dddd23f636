internal import Bus
internal import Messages
internal import Telemetry

/// What a relay hears on the bus; what does not decode is counted and dropped.
struct RelaySubscriptions: Sendable {
    let mailbox: RelayMailbox
    /// Whether something that another relay published arrives now: the bus promises nothing, so tests lose some.
    let hears: @Sendable () -> Bool
    let undecodable: Counter

    func subscribe(_ bus: Bus, instance: String) {
        let groups = ServiceNames.groups
        hear(bus, BusTopics.groupChanges, of: groups) { (change: GroupChange, _) in .change(change)
        }
        hear(bus, BusTopics.liveFixes, of: groups) { (fix: LiveFix, _) in .posted(fix) }
        hear(bus, BusTopics.placeEvents, of: groups) { (event: PlaceEventNotice, _) in .event(event)
        }
        hear(bus, BusTopics.relayNews(to: instance), of: ServiceNames.relay) {
            (news: RelayNews, _) in .news(news)
        }
        hear(bus, BusTopics.presence, of: ServiceNames.relay) {
            (presence: RelayPresence, publication) in
            guard let part = Int(publication.key), (0..<RelayPresence.parts).contains(part) else {
                return nil
            }
            return .presence(
                presence.entries,
                part: part,
                relay: publication.instance,
                epoch: publication.epoch
            )
        }
        // The view of the revocations has heard the same before.
        hear(bus, BusTopics.revocations, of: ServiceNames.auth) {
            (_: Revocations, _) in .checkSessions(nil)
        }
    }

    private func hear<Message: WireMessage>(
        _ bus: Bus,
        _ topic: String,
        of service: String,
        _ command: @escaping @Sendable (Message, BusPublication) -> RelayCommand?
    ) {
        bus.subscribe(topic: topic, of: service) { publication in
            guard service != ServiceNames.relay || hears() else { return }
            guard let message = try? Message(decoding: publication.body),
                let command = command(message, publication)
            else { return undecodable.add() }
            mailbox.post(command)
        }
    }
}
