import Database
import Foundation
import LoadKit
import RealtimeFeed
import Testing
import Transit

/// How long the drills take: `make test` runs the short form, `make fleet` the long one.
enum DrillLength {
    static let isLong = ProcessInfo.processInfo.environment["ALONGSIDE_DRILL"] == "long"
}

/// Where the executables lie: beside the tests.
let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

/// The rows of a fleet's database.
struct Tables {
    let database: Database

    init(_ fleet: LoadFleet) { self.init(url: fleet.databaseURL) }

    init(url: String) {
        database = Database(DatabaseConfiguration(url: url, connections: 1))
    }

    /// The times of all stored points by ride, in order.
    func points() async throws -> [UniqueID: [UnixSeconds]] {
        try await database.withConnection { connection throws(DatabaseError) in
            var points: [UniqueID: [UnixSeconds]] = [:]
            for row in try connection.query(
                "SELECT ride_id, timestamp FROM verifier.ride_points ORDER BY ride_id, timestamp"
            ) {
                points[try row.uuid(0), default: []].append(try row.timestamp(1))
            }
            return points
        }
    }

    /// What each ride's row counts.
    func counts() async throws -> [UniqueID: Int] {
        try await database.withConnection { connection throws(DatabaseError) in
            var counts: [UniqueID: Int] = [:]
            for row in try connection.query("SELECT id, points_total FROM verifier.rides") {
                counts[try row.uuid(0)] = try row.int(1)
            }
            return counts
        }
    }

    /// Owned slots by the session that holds them, as the locks say.
    func shares() async throws -> [Int] {
        try await database.withConnection { connection throws(DatabaseError) in
            let holders = try AdvisoryLock.holders(of: .slot, on: connection)
            return Dictionary(grouping: holders.values) { $0 }.values.map(\.count).sorted()
        }
    }

    func close() async { await database.close() }
}

/// Watches the feed: a trip that was published must be there at every later look.
actor FeedWatch {
    private(set) var published: Set<String> = []
    private(set) var vanished: [String] = []
    private(set) var looks = 0
    private var task: Task<Void, Never>?

    func start(_ fleet: LoadFleet, _ feed: LoadProcess) {
        task = Task {
            while !Task.isCancelled {
                if let answer = try? await fleet.get(feed.port, "/gtfs-rt/vehicle-positions"),
                    answer.0 == 200, let message = try? FeedMessage(decoding: answer.1)
                {
                    see(Set(message.entities.map(\.id)))
                }
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    func stop() async {
        task?.cancel()
        await task?.value
    }

    private func see(_ trips: Set<String>) {
        looks += 1
        vanished += published.subtracting(trips).sorted()
        published.formUnion(trips)
    }
}

/// Compares the phones' log with the tables: nothing acknowledged is missing, nothing is counted twice.
func expectTables(_ tables: Tables, match riders: [LoadRider]) async throws {
    let points = try await tables.points()
    let counts = try await tables.counts()
    var lost = 0
    var extra = 0
    for rider in riders {
        guard let ride = rider.ride else { continue }
        let stored = points[ride] ?? []
        lost += Set(rider.acknowledged).subtracting(stored).count
        extra += Set(stored).subtracting(rider.acknowledged).count
        #expect(counts[ride] == stored.count, "ride \(ride) counts what is stored")
    }
    #expect(lost == 0, "acknowledged points are missing")
    // Every batch was sent until it was acknowledged, so nothing else can be there.
    #expect(extra == 0, "points are stored that were not acknowledged")
}
