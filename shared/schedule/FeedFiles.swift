internal import Glibc

/// The tables of a feed, found at the top of the zip or, if only there, in one folder of it.
struct FeedFiles {
    let source: String
    private let reader: ZipReader
    private let prefix: String

    init(_ bytes: [UInt8], source: String, unpackedLimit: Int) throws(ScheduleError) {
        self.source = source
        reader = try ZipReader(bytes, source: source, unpackedLimit: unpackedLimit)
        let names = reader.names
        let marker = "agency.txt"
        if names.contains(marker) || names.contains("stops.txt") {
            prefix = ""
        } else {
            let nested = names.first { $0.hasSuffix("/" + marker) && !$0.hasPrefix("__MACOSX/") }
            prefix = nested.map { String($0.dropLast(marker.count)) } ?? ""
        }
    }

    /// The names of the feed's files, folder taken off.
    var names: [String] {
        reader.names.compactMap { name in
            guard name.hasPrefix(prefix), !name.hasSuffix("/") else { return nil }
            return String(name.dropFirst(prefix.count))
        }
    }

    func bytes(_ file: String) throws(ScheduleError) -> [UInt8]? {
        guard let index = reader.names.firstIndex(of: prefix + file) else { return nil }
        return try reader.read(index, as: file)
    }

    /// A table that a feed may leave out.
    func optional(_ file: String) throws(ScheduleError) -> Table? {
        guard let bytes = try bytes(file) else { return nil }
        try refuseNUL(in: bytes, of: file)
        let table = try Table(bytes, file: file, source: source)
        return table.columns.isEmpty ? nil : table
    }

    /// No text of a feed holds NUL, and PostgreSQL stores none.
    private func refuseNUL(in bytes: [UInt8], of file: String) throws(ScheduleError) {
        let offset = bytes.withUnsafeBytes { bytes -> Int? in
            guard let start = bytes.baseAddress, let found = memchr(start, 0, bytes.count) else {
                return nil
            }
            return UnsafeRawPointer(found) - start
        }
        guard let offset else { return }
        throw ScheduleError(
            source: source,
            file: file,
            line: 1 + bytes[..<offset].count { $0 == UInt8(ascii: "\n") },
            reason: "a NUL byte is in it"
        )
    }

    func required(_ file: String) throws(ScheduleError) -> Table {
        guard let table = try optional(file) else {
            throw ScheduleError(source: source, file: file, reason: "the file is missing or empty")
        }
        return table
    }
}
