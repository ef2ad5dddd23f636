import Database
import Messages
import Schedule
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit

@testable import FeedService

/// The schedule in the database, on which the whole fleet goes (architecture, section 7).
@Suite(.timeLimit(.minutes(2))) struct ScheduleArchiveTests {
    private struct Unreachable: Error {}

    /// What an address answers; nil for nothing.
    private final class Agency: Sendable {
        let answer = Mutex<[UInt8]?>(nil)

        init(_ answer: [UInt8]?) { self.answer.withLock { $0 = answer } }

        func fetch() throws -> [UInt8] {
            guard let bytes = answer.withLock({ $0 }) else { throw Unreachable() }
            return bytes
        }
    }

    private static let url = "https://agency.example/gtfs.zip"

    /// A real schedule without shapes.
    private func withoutShapes() throws -> [UInt8] {
        let name = "/bullrunner-no-shapes.gtfs.zip"
        return Array(try #require(FileBytes.read(ProjectPaths.sharedData + "/feeds" + name)))
    }

    private func bytes(_ name: String = "fixture.zip") throws -> [UInt8] {
        let path = ProjectPaths.root + "/Tests/Fixtures/" + name
        return Array(try #require(FileBytes.read(path)))
    }

    private func follower(
        _ database: Database,
        _ agency: Agency,
        url: String = url
    ) -> ScheduleFollower {
        let source = ScheduleSource(
            location: url,
            fetch: { _ in try agency.fetch() },
            now: { TripEstimate.now },
            logger: .silent
        )
        return ScheduleFollower(
            source: source,
            archive: ScheduleArchive(database),
            location: url,
            logger: .silent
        )
    }

    private func archivist(
        _ follower: ScheduleFollower,
        _ database: Database,
        hasRiders: Bool = true
    ) -> ScheduleArchivist {
        ScheduleArchivist(
            follower: follower,
            database: database,
            refreshPeriod: .seconds(86_400),
            hasRiders: hasRiders,
            isBuilding: { true },
            now: { TripEstimate.now },
            logger: .silent
        )
    }

    private func withPool(_ body: (Database) async throws -> Void) async throws {
        let database = try await ThrowawayPostgres.shared.database(FeedDatabaseTemplate.value)
        let pool = Database(DatabaseConfiguration(url: database.url))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        try outcome.get()
    }

    @Test func `what the builder fetched is in use everywhere, also without the agency`()
        async throws
    {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let builder = follower(pool, agency)
            try await builder.start()
            #expect(try await ScheduleArchive(pool).active() == nil)
            #expect(await archivist(builder, pool).renew())
            let entry = try #require(try await ScheduleArchive(pool).active())
            #expect(entry.source == Self.url)
            #expect(try await ScheduleArchive(pool).bytes(of: entry) == bytes())

            let lonely = follower(pool, Agency(nil))
            try await lonely.start()
            #expect(lonely.current?.contentHash == builder.current?.contentHash)
            #expect(lonely.current?.source == Self.url)
        }
    }

    @Test func `the same schedule is archived once, another one takes its place`() async throws {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let builder = follower(pool, agency)
            let work = archivist(builder, pool)
            #expect(await work.renew())
            #expect(await work.renew())
            let first = try #require(try await ScheduleArchive(pool).active())
            let replica = follower(pool, Agency(nil))
            try await replica.start()
            let before = replica.current?.contentHash
            let other = try ScheduleRebase.rebase(zip: bytes(), now: TripEstimate.now)
            agency.answer.withLock { $0 = other }
            #expect(await work.renew())
            let second = try #require(try await ScheduleArchive(pool).active())
            #expect(second.epoch == first.epoch + 1)
            await replica.look()
            #expect(replica.current?.contentHash != before)
            #expect(replica.current?.contentHash == builder.current?.contentHash)
        }
    }

    @Test func `what is no schedule is not archived, and the one in use stays`() async throws {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let builder = follower(pool, agency)
            let work = archivist(builder, pool)
            #expect(await work.renew())
            let entry = try await ScheduleArchive(pool).active()
            for broken in [nil, [], Array("no zip".utf8), try bytes().dropLast(500)] as [[UInt8]?] {
                agency.answer.withLock { $0 = broken }
                #expect(await !work.renew())
            }
            #expect(try await ScheduleArchive(pool).active() == entry)
            #expect(builder.current != nil)
        }
    }

    @Test func `a schedule that is over takes no place of one that is in force`() async throws {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let builder = follower(pool, agency)
            let work = archivist(builder, pool)
            #expect(await work.renew())
            let inUse = builder.current?.contentHash
            // Its copies run from a day before that moment for a year.
            let old = try ScheduleRebase.rebase(zip: bytes(), now: TripEstimate.now - 400 * 86_400)
            agency.answer.withLock { $0 = old }
            #expect(await !work.renew())
            #expect(builder.current?.contentHash == inUse)
            // As the first one of a fleet it is all there is.
            try await pool.withConnection { connection throws(DatabaseError) in
                try connection.execute("TRUNCATE feed.schedule_archive CASCADE")
            }
            #expect(await archivist(follower(pool, agency), pool).renew())
            let row = try await pool.withConnection { connection throws(DatabaseError) in
                let row = try connection.query(
                    "SELECT last_service_date, trips, rider_trips FROM feed.schedule_archive"
                ).one()
                return [
                    try row.text("last_service_date"), "\(try row.int("trips"))",
                    "\(try row.int("rider_trips"))",
                ]
            }
            let index = try ScheduleLoader.load(zip: old, name: "old")
            #expect(
                row == [
                    try #require(index.outlook.lastServiceDate).description,
                    "\(index.counts.trips)", "\(index.counts.riderTrips)",
                ]
            )
        }
    }

    @Test(arguments: [true, false])
    func `a schedule that no rider can ride by takes no other's place while there are riders`(
        hasRiders: Bool
    ) async throws {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let builder = follower(pool, agency)
            let work = archivist(builder, pool, hasRiders: hasRiders)
            #expect(await work.renew())
            let trips = try #require(builder.current?.index.counts.riderTrips)
            #expect(trips > 0)
            let half = try withoutShapes()
            agency.answer.withLock { $0 = half }
            #expect(await work.renew() == !hasRiders)
            #expect(builder.current?.index.counts.riderTrips == (hasRiders ? trips : 0))
            // As the first one of a fleet it is all there is.
            let other = follower(pool, agency, url: Self.url + "?other")
            try await other.source.load()
            #expect(other.current?.index.counts.riderTrips == 0)
        }
    }

    @Test func `an archive that is not whole is not used`() async throws {
        try await withPool { pool async throws in
            let builder = follower(pool, Agency(try bytes()))
            #expect(await archivist(builder, pool).renew())
            try await pool.withConnection { connection throws(DatabaseError) in
                try connection.execute("UPDATE feed.schedule_chunks SET body = body || '\\x00'")
            }
            let entry = try #require(try await ScheduleArchive(pool).active())
            #expect(try await ScheduleArchive(pool).bytes(of: entry) == nil)
            await #expect(throws: ScheduleError.self) {
                try await follower(pool, Agency(nil)).start()
            }
        }
    }

    @Test func `another agency's archive is used only when its own place has nothing`() async throws
    {
        try await withPool { pool async throws in
            let builder = follower(pool, Agency(try bytes()), url: "https://other.example/a.zip")
            #expect(await archivist(builder, pool).renew())
            let other = try ScheduleRebase.rebase(zip: bytes(), now: TripEstimate.now)
            let own = follower(pool, Agency(other))
            try await own.start()
            #expect(own.current?.contentHash != builder.current?.contentHash)
            let lonely = follower(pool, Agency(nil))
            try await lonely.start()
            #expect(lonely.current?.contentHash == builder.current?.contentHash)
        }
    }

    @Test func `old archives go`() async throws {
        try await withPool { pool async throws in
            let agency = Agency(try bytes())
            let work = archivist(follower(pool, agency), pool)
            for day in 0..<5 as Range<Int64> {
                let moved = try ScheduleRebase.rebase(
                    zip: bytes(),
                    now: TripEstimate.now + day * 86_400
                )
                agency.answer.withLock { $0 = moved }
                #expect(await work.renew())
            }
            let count = try await pool.withConnection { connection throws(DatabaseError) in
                try connection.query(
                    "SELECT count(DISTINCT content_hash) FROM feed.schedule_chunks"
                ).one().int(0)
            }
            #expect(count == ScheduleArchivist.keptArchives)
        }
    }
}
