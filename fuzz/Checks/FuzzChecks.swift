internal import Messages
internal import RealtimeFeed
internal import RiderIngestService
internal import Web

/// What must hold for any bytes at all; a check that fails traps, which a fuzzer and a test both see.
public enum FuzzChecks {
    /// The two readers of reports agree: what the quick one takes, the strict one takes as the same points.
    ///
    /// - Parameter bytes: The body of a request.
    public static func positions(_ bytes: [UInt8]) {
        let quick = PositionReader.points(bytes)
        let strict = try? ReportedPoint.points(of: JSONObject(parsing: bytes))
        guard let quick else { return }
        precondition(quick == strict, "the readers disagree")
        precondition(quick.allSatisfy(\.isStorable), "a point that no table could hold")
    }

    /// A message that is understood can be written and read again; nothing else comes of any bytes.
    ///
    /// - Parameter bytes: The first one chooses the kind of message, the others are the message.
    public static func message(_ bytes: [UInt8]) {
        guard let choice = bytes.first else { return }
        let body = Array(bytes.dropFirst())
        switch choice % 18 {
        case 0: roundTrip(RideRequest.self, body)
        case 1: roundTrip(RideReply.self, body)
        case 2: roundTrip(SlotTable.self, body)
        case 3: roundTrip(Estimates.self, body)
        case 4: roundTrip(TrustedVehicles.self, body)
        case 5: roundTrip(AgencyFeeds.self, body)
        case 6: roundTrip(BuiltFeed.self, body)
        case 7: roundTrip(ScheduleAnnouncement.self, body)
        case 9: roundTrip(RelayNews.self, body)
        case 10: roundTrip(RelayPresence.self, body)
        case 11: roundTrip(RelayRequest.self, body)
        case 12: roundTrip(GroupsReply.self, body)
        case 13: roundTrip(EraseAccount.self, body)
        case 14: roundTrip(EraseAccountAnswer.self, body)
        case 15: roundTrip(AccountDataQuery.self, body)
        case 16: roundTrip(AccountDataAnswer.self, body)
        default: roundTrip(Revocations.self, body)
        }
    }

    /// A feed that is understood can be written in every form and read again.
    ///
    /// - Parameter bytes: What an agency's server sent.
    public static func feed(_ bytes: [UInt8]) {
        _ = FeedMessage.entityCount(inFields: bytes)
        guard let feed = try? FeedMessage(decoding: bytes) else { return }
        let written = feed.encoded()
        guard let again = try? FeedMessage(decoding: written) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again.encoded() == written, "what was read again differs")
        let pieces = feed.header.encodedField() + FeedMessage.encodedFields(of: feed.entities)
        precondition(pieces == written, "the pieces are not the whole")
        let fields = FeedMessage.encodedFields(of: feed.entities)
        let count = FeedMessage.entityCount(inFields: fields)
        precondition(count == feed.entities.count, "entities are counted wrongly")
        precondition(!feed.json().contains(0) && !feed.geoJSON().contains(0), "NUL in JSON")
        _ = feed.complianceFindings(now: 1_771_257_600, positions: feed)
    }

    private static func roundTrip<Message: WireMessage>(_ type: Message.Type, _ bytes: [UInt8]) {
        // Bytes are compared, as not-a-number is not equal to itself. The trace of a message without one is drawn at
        // random, so the first reading is not compared.
        guard let message = try? Message(decoding: bytes) else { return }
        let written = message.encoded()
        guard let again = try? Message(decoding: written) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again.encoded() == written, "what was read again differs")
    }
}

extension ReportedPoint {
    /// Whether every number is one that a table can hold.
    fileprivate var isStorable: Bool {
        timestamp > 0 && latitude.isFinite && longitude.isFinite
            && [accuracy, speed, bearing].allSatisfy { $0?.isFinite ?? true }
    }
}
