/// Where a field lies in a table's bytes, quotes taken off.
struct Field {
    var start: Int
    var end: Int
    /// Whether it holds doubled quotes.
    var isEscaped: Bool

    static let absent = Field(start: 0, end: 0, isEscaped: false)
}

/// Walks a CSV file of GTFS row by row, without making a string of any field.
///
/// Takes a byte order mark, LF and CRLF, quoted fields with commas, line ends and doubled quotes in
/// them, short rows and a last line without an end. Columns are known by the names in the header.
struct Table {
    let source: String
    let file: String
    let bytes: [UInt8]
    /// The line on which the current row begins.
    private(set) var line = 1
    private(set) var rowCount = 0
    private(set) var columns: [String] = []

    /// Kept from row to row; only the first ``fieldCount`` belong to the current one.
    private var fields: [Field] = []
    private var fieldCount = 0
    private var position = 0
    private var nextLine = 1

    init(_ bytes: [UInt8], file: String, source: String) throws(ScheduleError) {
        self.bytes = bytes
        self.file = file
        self.source = source
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        guard try next() else { return }
        columns = fields[..<fieldCount].map { text($0).trimmed }
        rowCount = 0
    }

    /// A column's index, or one past every row when there is none.
    func column(_ name: String) -> Int { columns.firstIndex(of: name) ?? .max }

    /// A column's index.
    func required(_ name: String) throws(ScheduleError) -> Int {
        guard let index = columns.firstIndex(of: name) else {
            throw ScheduleError(
                source: source,
                file: file,
                line: 1,
                reason: "column \(name) is missing"
            )
        }
        return index
    }

    /// Reads the next row that is not blank.
    ///
    /// - Returns: false at the end.
    mutating func next() throws(ScheduleError) -> Bool {
        while position < bytes.count {
            try readRow()
            if fieldCount == 1, fields[0].start == fields[0].end { continue }
            rowCount += 1
            return true
        }
        return false
    }

    private mutating func readRow() throws(ScheduleError) {
        line = nextLine
        fieldCount = 0
        // A second reference lets the span outlive changes to the row's own state.
        let data = self.bytes
        let bytes = data.span
        let count = bytes.count
        var index = position
        while true {
            var field = Field(start: index, end: index, isEscaped: false)
            if index < count, bytes[index] == UInt8(ascii: "\"") {
                index = try readQuoted(&field, bytes)
            } else {
                while index < count, bytes[index] != UInt8(ascii: ","),
                    bytes[index] != UInt8(ascii: "\n")
                {
                    index += 1
                }
                field.end = index
            }
            let isRowEnd = index >= count || bytes[index] == UInt8(ascii: "\n")
            if isRowEnd, field.end == index, field.end > field.start,
                bytes[field.end - 1] == UInt8(ascii: "\r")
            {
                field.end -= 1
            }
            if fieldCount < fields.count {
                fields[fieldCount] = field
            } else {
                fields.append(field)
            }
            fieldCount += 1
            index += 1
            if isRowEnd { break }
        }
        nextLine += 1
        position = index
    }

    /// Reads a quoted field up to the comma or line end after it.
    private mutating func readQuoted(
        _ field: inout Field,
        _ bytes: Span<UInt8>
    ) throws(ScheduleError) -> Int {
        let count = bytes.count
        var index = field.start + 1
        field.start = index
        while true {
            guard index < count else { throw failure("a quoted field does not end") }
            if bytes[index] == UInt8(ascii: "\n") {
                nextLine += 1
            } else if bytes[index] == UInt8(ascii: "\"") {
                guard index + 1 < count, bytes[index + 1] == UInt8(ascii: "\"") else { break }
                field.isEscaped = true
                index += 1
            }
            index += 1
        }
        field.end = index
        index += 1
        while index < count, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "\n") {
            guard bytes[index] == UInt8(ascii: "\r") || bytes[index] == UInt8(ascii: " ") else {
                throw failure("text follows a quoted field")
            }
            index += 1
        }
        return index
    }

    // MARK: - Fields

    /// The field of the current row in a column; an absent one is empty.
    @inline(__always)
    subscript(column: Int) -> Field { column < fieldCount ? fields[column] : .absent }

    /// The fields of the current row as text, for rewriting.
    var texts: [String] { fields[..<fieldCount].map(text) }

    func text(_ field: Field) -> String {
        let slice = bytes[field.start..<field.end]
        guard field.isEscaped else { return String(decoding: slice, as: UTF8.self) }
        return String(decoding: unescaped(field), as: UTF8.self)
    }

    /// The bytes with each doubled quote made one.
    func unescaped(_ field: Field) -> [UInt8] {
        var result: [UInt8] = []
        var index = field.start
        while index < field.end {
            result.append(bytes[index])
            index += bytes[index] == UInt8(ascii: "\"") ? 2 : 1
        }
        return result
    }

    func failure(_ reason: String) -> ScheduleError {
        ScheduleError(source: source, file: file, line: line, reason: reason)
    }

    /// A failure that names a column and what stands there.
    func failure(_ column: String, _ field: Field, _ expected: String) -> ScheduleError {
        let shown = String(text(field).prefix(40))
        return failure("\(column) \"\(shown)\" is not \(expected)")
    }
}

extension String {
    /// Without spaces at both ends.
    var trimmed: String {
        let head = drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        guard let last = head.lastIndex(where: { $0 != " " && $0 != "\t" && $0 != "\r" }) else {
            return ""
        }
        return String(head[...last])
    }
}
