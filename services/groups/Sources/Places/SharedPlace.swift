internal import Web

/// A place as a member shares it: a few checked members, and the JSON object as it was sent.
///
/// What rides along is given back byte for byte (spec 1.6), inside a list with the places of others.
/// So it has to be JSON that any reader of the list can hold: no number beyond a double, which many
/// readers refuse together with everything around it, and no deeper than ``maximumDepth``.
struct SharedPlace: Sendable {
    /// Levels of a body that shares a place.
    ///
    /// In the list a place stands two levels deeper than in the
    /// body, and readers of ours take 64 at most (decision 14): the place itself may have 61.
    static let maximumDepth = 62
    /// Metres of a place's radius.
    static let maximumRadiusMeters = 50_000.0
    /// Bytes of the place's JSON.
    static let maximumPayloadBytes = 64 * 1024
    /// Bytes of a body that shares a place: the place, and what is around it.
    static let bodyLimit = maximumPayloadBytes + 4096
    /// Characters of a name; a longer one is cut.
    static let nameLength = 200
    /// The name of a place that has none.
    static let defaultName = "Place"
    /// Places of one member in one circle; the oldest go.
    static let limit = 50

    /// The phone's own number of the place, unique for its owner alone.
    let clientPlaceID: Int64
    let name: String
    let radiusMeters: Double
    /// The object as it was sent, given back byte for byte.
    let payload: String

    /// Reads and checks `{place: {id, name?, radiusMeters, …}}`.
    ///
    /// - Throws: 400 for what is no place, 413 for one that is too large.
    init(_ bytes: [UInt8]) throws(HTTPError) {
        let body = try JSONObject(parsing: bytes, maximumDepth: Self.maximumDepth)
        guard let place = try body.object("place") else {
            throw .missing("place")
        }
        let id = try place.int64("id")
        let name = try place.string("name")
        let radius = try place.double("radiusMeters")
        guard let id, id != 0 else { throw .placeIDRequired }
        guard let radius, radius > 0, radius <= Self.maximumRadiusMeters else {
            throw .radiusOutOfRange
        }
        let payload = try Self.payload(bytes)
        guard payload.count <= Self.maximumPayloadBytes else { throw .placeTooLarge }
        clientPlaceID = id
        radiusMeters = radius
        self.name = try Self.name(name ?? "")
        self.payload = String(decoding: payload, as: UTF8.self)
    }

    private static func name(_ typed: String) throws(HTTPError) -> String {
        let name = typed.trimmingWhitespace()
        guard !name.isEmpty else { return defaultName }
        guard name.isVisible else { throw .placeNameInvalid }
        return String(String.UnicodeScalarView(name.unicodeScalars.prefix(nameLength)))
    }

    /// The bytes of the member `place` of a body that has been read once already.
    private static func payload(_ bytes: [UInt8]) throws(HTTPError) -> ArraySlice<UInt8> {
        var reader = JSONReader(bytes, maximumDepth: maximumDepth)
        do throws(JSONError) {
            _ = try reader.next()
            while try reader.next() == .key {
                guard try reader.string() == "place" else {
                    try reader.skipValue()
                    continue
                }
                _ = try reader.next()
                let start = reader.offset
                while reader.depth > 1 { _ = try reader.next() }
                return bytes[start..<reader.endOffset]
            }
        } catch {
            throw .invalidJSON(error)
        }
        throw .missing("place")
    }
}
