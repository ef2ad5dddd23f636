internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

extension AgencyFeeds: WireMessage {
    /// The protobuf bytes of this message.
    public func encoded() -> [UInt8] {
        let arena = WireArena()
        let message = arena.message(alongside__agency_feeds__init) { message in
            message.header = arena.header(trace)
            (message.has_instance, message.instance) = (1, arena.text(instance))
            (message.has_epoch, message.epoch) = (1, epoch)
            (message.has_sequence, message.sequence) = (1, sequence)
            (message.n_feeds, message.feeds) = (
                feeds.count, arena.messages(feeds) { $0.wire(arena) }
            )
        }
        return arena.pack(message)
    }

    /// Reads the message.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(MessageError) {
        self = try withUnpacked(bytes, alongside__agency_feeds__unpack) {
            message throws(MessageError) in
            AgencyFeeds(
                trace: Messages.trace(message.header),
                instance: message.instance.text,
                epoch: message.epoch,
                sequence: message.sequence,
                feeds: try values(message.feeds, message.n_feeds) { Feed($0) }
            )
        }
    }
}

extension AgencyFeeds.Feed {
    fileprivate func wire(
        _ arena: WireArena
    ) -> UnsafeMutablePointer<Alongside__AgencyFeeds__Feed> {
        arena.message(alongside__agency_feeds__feed__init) { wire in
            (wire.has_url, wire.url) = (1, arena.text(url))
            if let lastSuccess { (wire.has_last_success, wire.last_success) = (1, lastSuccess) }
            (wire.has_last_error, wire.last_error) = (1, arena.text(lastError))
            (wire.has_entities, wire.entities) = (1, UInt32(wire: entities))
        }
    }

    fileprivate init(_ wire: Alongside__AgencyFeeds__Feed) {
        self.init(
            url: wire.url.text,
            lastSuccess: wire.has_last_success != 0 ? wire.last_success : nil,
            lastError: wire.last_error.text,
            entities: Int(wire.entities)
        )
    }
}
