internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// A vehicle as admins and drivers see it (spec 1.4).
struct Vehicle: Sendable {
    let id: VehicleID
    let label: String
    let agencyTag: String
    let isActive: Bool
    let createdAt: UnixSeconds
    let updatedAt: UnixSeconds

    /// The columns that ``init(_:)`` reads, of a table named `v`.
    static let columns = "v.id, v.label, v.agency_tag, v.active, v.created_at, v.updated_at"

    /// Reads a row of ``columns``.
    init(_ row: Row) throws(DatabaseError) {
        id = VehicleID(try row.text("id"))
        label = try row.text("label")
        agencyTag = try row.text("agency_tag")
        isActive = try row.bool("active")
        createdAt = try row.timestamp("created_at")
        updatedAt = try row.timestamp("updated_at")
    }

    /// Writes the vehicle as the next value.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id.rawValue)
        json.member("label", label)
        json.member("agency_tag", agencyTag)
        json.member("active", isActive)
        json.member("created_at", Timestamps.text(ofSeconds: createdAt))
        json.member("updated_at", Timestamps.text(ofSeconds: updatedAt))
        json.endObject()
    }
}

/// What an admin says of a vehicle.
struct VehicleBody: Sendable {
    /// Characters of a label and of an agency's tag (spec 1.4).
    static let textLimit = 255

    let id: VehicleID
    let label: String
    let agencyTag: String

    /// Reads and checks a body, in the order of spec 1.4.
    init(_ body: JSONObject) throws(HTTPError) {
        let id = try body.string("id") ?? ""
        label = try body.string("label") ?? ""
        agencyTag = try body.string("agency_tag") ?? ""
        try body.finish()
        self.id = try VehicleID(checking: id, named: "vehicle id")
        for (name, text) in [("label", label), ("agency_tag", agencyTag)]
        where text.unicodeScalars.count > Self.textLimit {
            throw .badRequest(
                "\(name) must be at most \(Self.textLimit) characters",
                code: "\(name).too_long"
            )
        }
    }
}
