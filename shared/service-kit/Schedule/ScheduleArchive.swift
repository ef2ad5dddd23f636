public import Database
public import Transit

/// The schedules that the feed service keeps in the database, as every service reads them.
public struct ScheduleArchive: Sendable {
    /// A schedule in the archive.
    public struct Entry: Sendable, Equatable {
        /// SHA-256 of its bytes.
        public let contentHash: [UInt8]
        /// Where it was fetched from.
        public let source: String
        /// The number of its bytes.
        public let archiveBytes: Int
        /// Rises with each activation; the highest is in use.
        public let epoch: Int
        /// POSIX seconds.
        public let activatedAt: UnixSeconds
    }

    /// Bytes of one row: large enough for few round trips, small enough for the server's memory.
    public static let chunkBytes = 1 << 20

    private let database: Database

    /// Reads through a pool.
    public init(_ database: Database) { self.database = database }

    /// The SHA-256 of an archive's bytes, by which it is known.
    public static func hash(of bytes: [UInt8]) -> [UInt8] { Sodium.sha256(of: bytes) }

    /// The schedule in use.
    ///
    /// - Returns: nil when none was archived yet, or the feed's schema is not there.
    /// - Throws: ``DatabaseError`` when the database is away.
    public func active() async throws(DatabaseError) -> Entry? {
        do throws(DatabaseError) {
            return try await database.withConnection { connection throws(DatabaseError) in
                let rows = try connection.query(
                    """
                    SELECT content_hash, source, archive_bytes, epoch, activated_at
                    FROM feed.schedule_archive ORDER BY epoch DESC LIMIT 1
                    """
                )
                for row in rows {
                    return Entry(
                        contentHash: try row.bytes(0),
                        source: try row.text(1),
                        archiveBytes: try row.int(2),
                        epoch: try row.int(3),
                        activatedAt: try row.timestamp(4)
                    )
                }
                return nil
            }
        } catch  where ["42P01", "3F000", "42501"].contains(error.sqlState) {
            return nil
        }
    }

    /// The bytes of a schedule.
    ///
    /// - Returns: nil when they are not whole, or not those of the hash.
    /// - Throws: ``DatabaseError`` when the database is away.
    public func bytes(of entry: Entry) async throws(DatabaseError) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entry.archiveBytes)
        var number = 0
        while bytes.count < entry.archiveBytes {
            let wanted = number
            let chunk = try await database.withConnection { connection throws(DatabaseError) in
                let rows = try connection.query(
                    """
                    SELECT body FROM feed.schedule_chunks
                    WHERE content_hash = $1 AND number = $2
                    """,
                    [.bytes(entry.contentHash), .int(wanted)]
                )
                for row in rows { return try row.bytes(0) }
                return [UInt8]()
            }
            guard !chunk.isEmpty else { return nil }
            bytes += chunk
            number += 1
        }
        return Self.hash(of: bytes) == entry.contentHash ? bytes : nil
    }
}
