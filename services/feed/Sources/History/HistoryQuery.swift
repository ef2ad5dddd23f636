internal import Transit
internal import Web

/// Which stored reports of a vehicle an admin asked for, and in which form (spec 1.11).
struct HistoryQuery: Sendable, Equatable {
    /// In which form the answer comes.
    enum Form: String, Sendable {
        case json
        case csv
    }

    /// How far back it goes when nothing is said, before `to`.
    static let defaultSpan: Int64 = 86_400
    /// What the database can compare: the years 1 to 9999.
    private static let years: ClosedRange<UnixSeconds> = -62_135_596_800...253_402_300_799

    let span: ClosedRange<UnixSeconds>
    let limit: Int
    let form: Form

    /// Reads `from`, `to`, `limit` and `format`; empty ones are absent.
    ///
    /// - Parameters:
    ///   - query: The request's.
    ///   - now: The default of `to`.
    /// - Throws: 400 with the sentence of spec 1.11.
    init(_ query: QueryItems, now: UnixSeconds) throws(HTTPError) {
        let to = try Self.instant(query, "to") ?? now
        let from = try Self.instant(query, "from") ?? Self.before(to)
        guard from <= to else {
            throw .badRequest("from must be less than or equal to to", code: "from.invalid")
        }
        span = Self.clamped(from)...Self.clamped(to)
        limit = try query.integer("limit", default: 100, in: 1...1000)
        let wanted = query.first("format") ?? ""
        guard let form = wanted.isEmpty ? .json : Form(rawValue: wanted) else {
            throw .badRequest("format must be json or csv", code: "format.invalid")
        }
        self.form = form
    }

    private static func before(_ to: UnixSeconds) -> UnixSeconds {
        let (from, overflow) = to.subtractingReportingOverflow(defaultSpan)
        return overflow ? .min : from
    }

    private static func clamped(_ instant: UnixSeconds) -> UnixSeconds {
        min(max(instant, years.lowerBound), years.upperBound)
    }

    private static func instant(
        _ query: QueryItems,
        _ name: String
    ) throws(HTTPError) -> UnixSeconds? {
        guard let text = query.first(name), !text.isEmpty else { return nil }
        guard let instant = UnixSeconds(text) else {
            throw .badRequest("\(name) must be a valid unix timestamp", code: "\(name).invalid")
        }
        return instant
    }
}
