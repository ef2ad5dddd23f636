internal import Transit
internal import Web

/// An arrival or departure as a phone reports it.
struct ReportedEvent: Sendable {
    let placeID: UniqueID
    let kind: PlaceEvent.Kind
    /// The phone's clock, POSIX milliseconds.
    let timestampMilliseconds: Int64
    /// Our clock when it came in, POSIX milliseconds.
    let receivedAtMilliseconds: Int64
    /// The phone's own id of the event; a repeat gets the first answer.
    let clientEventID: UniqueID?

    /// Reads and checks `{placeId, kind, timestampMs?, clientEventId?}`.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - now: Our clock, POSIX milliseconds.
    /// - Throws: 400 for what is no event.
    init(_ body: JSONObject, now: Int64) throws(HTTPError) {
        let place = try body.string("placeId")
        let kind = try body.string("kind")
        let clientEvent = try body.string("clientEventId")
        timestampMilliseconds = try body.timestamp(now: now)
        receivedAtMilliseconds = now
        guard let placeID = place.flatMap({ UniqueID($0) }) else { throw .placeIDRequired }
        guard let kind = kind.flatMap({ PlaceEvent.Kind(sent: $0) }) else {
            throw .eventKindInvalid
        }
        if let clientEvent {
            guard let id = UniqueID(clientEvent) else {
                throw .badRequest(
                    "clientEventId must be a UUID",
                    code: "place_event.client_event_id_invalid"
                )
            }
            clientEventID = id
        } else {
            clientEventID = nil
        }
        self.placeID = placeID
        self.kind = kind
    }
}
