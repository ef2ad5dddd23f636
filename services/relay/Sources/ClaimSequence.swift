internal import Database

/// The fleet's sequence of claims: of two sockets of one rider the later drawn counts.
struct ClaimSequence: Sendable {
    /// Draws so many, in rising order; nil when the database is away.
    let draw: @Sendable (Int) async -> [UInt64]?

    /// The sequence in the relay's schema.
    init(_ database: Database) {
        draw = { count in
            try? await database.withConnection { connection throws(DatabaseError) in
                let rows = try connection.query(
                    "SELECT nextval('relay.claims') FROM generate_series(1, $1::int)",
                    [.int(count)]
                )
                var claims: [UInt64] = []
                claims.reserveCapacity(rows.count)
                for row in rows { claims.append(UInt64(clamping: try row.int64(0))) }
                return claims.sorted()
            }
        }
    }

    /// Another source, for benchmarks and tests.
    init(draw: @escaping @Sendable (Int) async -> [UInt64]?) { self.draw = draw }
}
