internal import Transit
internal import Web

/// What a phone kept while it was offline (spec 0).
struct LocationBatch: Sendable {
    /// Reports in one batch.
    static let sizeLimit = 500

    /// A report that was refused, by its place in the batch.
    struct Rejection: Sendable, Equatable {
        let index: Int
        let sentence: String
    }

    /// The reports that may be stored, in their order.
    let reports: [DriverReport]
    let rejections: [Rejection]

    /// Reads a batch; a report that breaks a rule does not keep the others from being stored.
    ///
    /// - Parameters:
    ///   - body: The request's object.
    ///   - now: The application clock.
    /// - Throws: 400 when it is no list of 1 to 500 objects.
    init(_ body: JSONObject, now: UnixSeconds) throws(HTTPError) {
        let objects = try body.objects("locations") ?? []
        try body.finish()
        guard !objects.isEmpty else {
            throw .badRequest(
                "locations must contain at least one location",
                code: "locations.empty"
            )
        }
        guard objects.count <= Self.sizeLimit else {
            throw .badRequest(
                "locations must contain at most \(Self.sizeLimit) locations",
                code: "locations.too_many"
            )
        }
        var reports: [DriverReport] = []
        var rejections: [Rejection] = []
        reports.reserveCapacity(objects.count)
        for (index, object) in objects.enumerated() {
            do throws(HTTPError) {
                reports.append(try DriverReport(object, now: now, age: .kept))
            } catch {
                rejections.append(Rejection(index: index, sentence: error.message))
            }
        }
        self.reports = reports
        self.rejections = rejections
    }
}
