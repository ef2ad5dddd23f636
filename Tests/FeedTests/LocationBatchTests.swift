import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// `POST /api/v1/locations/batch`: what a phone kept while it was offline (spec 0).
@Suite(.timeLimit(.minutes(2))) struct LocationBatchTests {
    private let driver = UniqueID.random()
    private let path = "/api/v1/locations/batch"

    private func send(
        _ world: DriverWorld,
        _ reports: [ReportBody],
        by other: UniqueID? = nil
    ) async throws -> HTTPClientResponse {
        try await world.post(path, as: .driver(other ?? driver), batch(reports))
    }

    private func answer(_ accepted: Int, _ ignored: Int) -> String {
        "{\"accepted\":\(accepted),\"ignored\":\(ignored),\"rejected\":[]}"
    }

    @Test func `a batch is stored once, however often it is sent`() async throws {
        try await withDrivers { world async throws in
            let start = world.now
            let reports = (0..<5).map { ReportBody(at: start - 3600 + Int64($0)) }
            #expect(try await send(world, reports).text == answer(5, 0))
            world.clock.advance(by: 5)
            #expect(try await send(world, reports).text == answer(0, 5))
            world.clock.advance(by: 5)
            let more = reports + [ReportBody(at: start)]
            #expect(try await send(world, more).text == answer(1, 5))
            #expect(try await world.number("SELECT count(*) FROM feed.location_points") == 6)
        }
    }

    @Test func `a point that stands twice in a batch is stored once, as it came first`()
        async throws
    {
        try await withDrivers { world async throws in
            let first = ReportBody(at: world.now, latitude: "1")
            let second = ReportBody(at: world.now, latitude: "2")
            #expect(try await send(world, [first, second, first]).text == answer(1, 2))
            #expect(world.first.intake.tracker.live(at: world.now).map(\.latitude) == [1])
        }
    }

    @Test(arguments: [(1, 200), (500, 200), (501, 400)])
    func `a batch has 1 to 500 points`(count: Int, status: Int) async throws {
        try await withDrivers { world async throws in
            let reports = (0..<count).map { ReportBody(at: world.now - Int64($0)) }
            let given = try await send(world, reports)
            #expect(given.status == status)
            if status == 200 {
                #expect(given.text == answer(count, 0))
            } else {
                #expect(given.refusal == "locations must contain at most 500 locations")
            }
        }
    }

    @Test(
        arguments: [
            (-86_400, nil), (-86_401, "timestamp must be at most 24 hours old"), (300, nil),
            (301, "timestamp must be within 5 minutes of server time"),
        ] as [(Int64, String?)]
    )
    func `points may be a day old and five minutes ahead`(
        offset: Int64,
        error: String?
    )
        async throws
    {
        try await withDrivers { world async throws in
            let given = try await send(world, [ReportBody(at: world.now + offset)])
            let rejected = try given.json["rejected"]
            #expect(rejected?[0]?["error"]?.text == error)
            #expect(try given.json["accepted"]?.number == (error == nil ? 1 : 0))
        }
    }

    @Test func `a point that breaks a rule does not keep the others out`() async throws {
        try await withDrivers { world async throws in
            let given = try await send(
                world,
                [
                    ReportBody(at: world.now - 2), ReportBody(latitude: "91"),
                    ReportBody(at: world.now - 1),
                ]
            )
            #expect(
                given.text
                    == "{\"accepted\":2,\"ignored\":0,\"rejected\":[{\"index\":1,"
                    + "\"error\":\"latitude must be between -90 and 90\"}]}"
            )
        }
    }

    @Test func `old points go to the history and only newer ones become live`() async throws {
        try await withDrivers { world async throws in
            let tracker = world.first.intake.tracker
            try await world.report(driver, ReportBody(at: world.now))
            let old = (1...3).map { ReportBody(at: world.now - 600 * Int64($0)) }
            #expect(try await send(world, old).text == answer(3, 0))
            #expect(tracker.live(at: world.now).map(\.timestamp) == [world.now])
            // In any order, the newest counts.
            let mixed = [8, 2, 5].map { ReportBody(at: world.now + $0) }
            world.clock.advance(by: 10)
            #expect(try await send(world, mixed).text == answer(3, 0))
            #expect(tracker.live(at: world.now).map(\.timestamp) == [world.now - 2])
        }
    }

    @Test func `a batch makes one vehicle live, the one of its newest point`() async throws {
        try await withDrivers { world async throws in
            let tracker = world.first.intake.tracker
            let many = (1...20).map { ReportBody("bus-\($0)", at: world.now - 20 + Int64($0)) }
            #expect(try await send(world, many).text == answer(20, 0))
            #expect(tracker.live(at: world.now).map(\.vehicleID) == ["bus-20"])
            // Each in a batch of its own, as a driver who changes the bus has it.
            world.clock.advance(by: 5)
            #expect(
                try await send(world, [ReportBody("bus-1", at: world.now)]).text == answer(1, 0)
            )
            #expect(tracker.live(at: world.now).map(\.vehicleID) == ["bus-1", "bus-20"])
        }
    }

    @Test(
        arguments: [
            // A fast clock at the first bus: both count as of the receipt, and the driver is on the last.
            ([("A", 299), ("B", 0)], "B"), ([("B", 0), ("A", 299)], "A"),
            ([("A", 299), ("B", 1)], "B"), ([("A", 299), ("B", -1)], "A"),
            ([("A", -1), ("B", 0)], "B"), ([("B", 0), ("A", -1)], "B"),
            ([("A", 299), ("B", 0), ("A", 1)], "A"),
        ] as [([(VehicleID, Int64)], VehicleID)]
    )
    func `a time ahead of the receipt makes no vehicle of a batch newer than one of now`(
        points: [(VehicleID, Int64)],
        live: VehicleID
    ) async throws {
        try await withDrivers { world async throws in
            let tracker = world.first.intake.tracker
            let reports = points.map { ReportBody($0.0.rawValue, at: world.now + $0.1) }
            #expect(try await send(world, reports).text == answer(points.count, 0))
            #expect(tracker.live(at: world.now).map(\.vehicleID) == [live])
        }
    }

    @Test func `a batch that is all too old is stored and makes nothing live`() async throws {
        try await withDrivers { world async throws in
            #expect(try await send(world, [ReportBody(at: world.now - 91)]).text == answer(1, 0))
            #expect(world.first.intake.tracker.live(at: world.now).isEmpty)
        }
    }

    @Test func `batches have an allowance of their own, one in five seconds`() async throws {
        try await withDrivers { world async throws in
            let start = world.now
            #expect(try await world.report(driver, ReportBody(at: start)) == 201)
            #expect(try await send(world, [ReportBody(at: start - 1)]).status == 200)
            world.clock.advance(by: 4)
            let refused = try await send(world, [ReportBody(at: start - 2)])
            #expect(refused.status == 429)
            #expect(refused.headers.first("Retry-After") == "1")
            #expect(
                refused.refusal
                    == "rate limit exceeded: at most one location batch per 5 seconds per driver"
            )
            #expect(try await send(world, [ReportBody(at: start - 2)], by: .random()).status == 200)
            world.clock.advance(by: 1)
            #expect(try await send(world, [ReportBody(at: start - 3)]).status == 200)
        }
    }

    @Test func `two drivers who send the same points at once store them once`() async throws {
        try await withDrivers(replicas: 2) { world async throws in
            let body = batch((0..<100).map { ReportBody(at: world.now - Int64($0)) })
            let answers = try await withThrowingTaskGroup(of: HTTPClientResponse.self) { group in
                for replica in 0..<2 {
                    group.addTask {
                        try await world.post(path, as: .driver(.random()), body, at: replica)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let accepted = try answers.map { try $0.json["accepted"]?.number ?? 0 }
            let ignored = try answers.map { try $0.json["ignored"]?.number ?? 0 }
            #expect(accepted.reduce(0, +) == 100)
            #expect(ignored.reduce(0, +) == 100)
        }
    }

    @Test func `points fall into the partitions of their days`() async throws {
        try await withDrivers { world async throws in
            let days = try await world.number(
                """
                SELECT count(*) FROM pg_inherits
                WHERE inhparent = 'feed.location_points'::regclass
                """
            )
            #expect(days == 5)
            let noon = [ReportBody(at: world.now), ReportBody(at: world.now - 86_400)]
            #expect(try await send(world, noon).text == answer(2, 0))
            for day in ["20260215", "20260216"] {
                #expect(
                    try await world.number("SELECT count(*) FROM feed.location_points_\(day)") == 1
                )
            }
            let left = "SELECT count(*) FROM feed.location_points_default"
            #expect(try await world.number(left) == 0)
        }
    }
}
