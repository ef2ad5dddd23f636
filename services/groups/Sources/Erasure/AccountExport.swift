internal import Database
internal import Messages
internal import Transit
internal import Web

/// Everything that is stored about an account, as JSON for `GET /api/me/export`, page by page: six
/// circles may hold twenty megabytes of places, and a message is smaller than that.
///
/// The pages, one behind the other, are the object
/// `{username, friends, convoys, circles, fixes, places, events}`; of an unknown account everything
/// is empty and `username` null. Each page is read by itself: what stands all the while is in
/// exactly one of them.
enum AccountExport {
    /// What orders the values of a part.
    struct Key: Equatable, Sendable {
        let id: UniqueID
        let number: Int64
    }

    /// Some values of a part.
    struct Values: Sendable {
        /// Each one as JSON.
        var json: [[UInt8]] = []
        /// The key of the last one.
        var last: Key?
    }

    /// Where a page begins.
    struct Cursor: Equatable, Sendable {
        /// The part's place among all.
        let part: Int
        /// The last value of the page before; nil at the part's beginning.
        let last: Key?

        /// The beginning of everything.
        static let start = Cursor(part: 0, last: nil)
    }

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - cursor: Where it begins.
    ///   - connection: Inside a transaction or not.
    /// - Returns: The page, a few megabytes at most.
    /// - Throws: `DatabaseError`.
    static func page(
        of account: UniqueID,
        at cursor: Cursor,
        on connection: Connection
    ) throws(DatabaseError) -> AccountDataAnswer.Body {
        let part = ExportPart.all[cursor.part]
        let values = try part.read(account, cursor.last ?? part.start, connection)
        var json: [UInt8] = []
        if cursor.last == nil {
            if cursor.part == 0 { json += try username(of: account, on: connection) }
            json += Array(",\"\(part.name)\":[".utf8)
        }
        for (index, value) in values.json.enumerated() {
            if index > 0 || cursor.last != nil { json.append(UInt8(ascii: ",")) }
            json += value
        }
        if values.json.count == part.limit {
            return .part(json, next: Cursor(part: cursor.part, last: values.last).text)
        }
        json.append(UInt8(ascii: "]"))
        guard cursor.part + 1 < ExportPart.all.count else {
            json.append(UInt8(ascii: "}"))
            return .part(json, next: nil)
        }
        return .part(json, next: Cursor(part: cursor.part + 1, last: nil).text)
    }

    /// The beginning of the object.
    private static func username(
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [UInt8] {
        let handle = try connection.query(
            "SELECT handle FROM groups.accounts WHERE id = $1",
            [.uuid(account)]
        ).first?.text("handle")
        var json = JSONWriter()
        json.beginObject()
        json.member("username", handle)
        return json.bytes
    }
}

extension AccountExport.Cursor {
    /// As auth carries it from one page to the next.
    var text: String { last.map { "\(part)/\($0.id)/\($0.number)" } ?? "\(part)" }

    /// Reads what ``text`` wrote, and nothing as the beginning; nil for anything else.
    init?(_ text: String) {
        guard !text.isEmpty else {
            self = .start
            return
        }
        let fields = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let part = Int(fields[0]), ExportPart.all.indices.contains(part) else { return nil }
        switch fields.count {
        case 1: self.init(part: part, last: nil)
        case 3:
            guard let id = UniqueID(String(fields[1])), let number = Int64(fields[2]) else {
                return nil
            }
            self.init(part: part, last: AccountExport.Key(id: id, number: number))
        default: return nil
        }
    }
}
