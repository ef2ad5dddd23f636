import Database
import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import VerifierService

/// What riders hear and what is stored when the database fails (architecture, sections 5 and 10).
@Suite(.timeLimit(.minutes(3))) struct StoreFailureTests {
    /// Makes every statement that touches a ride's row fail, until the trigger goes.
    private static let breakRides = """
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE 'broken by the test'; END $$;
        CREATE TRIGGER broken BEFORE UPDATE ON verifier.rides
            FOR EACH ROW EXECUTE FUNCTION fail()
        """
    private static let mendRides = "DROP TRIGGER broken ON verifier.rides"

    private static let offRoute = Course.points([-50, -45, -40, -35, -30], east: 0.01)

    private func ownsSlots(_ verifier: TestVerifier) async throws {
        try await eventually("the slots are back") {
            await verifier.node.stepTowardsShare()
            return verifier.node.readiness == .ready
        }
    }

    private func ride(_ world: World) async throws -> [String?] {
        try await world.row(
            [
                "status", "end_reason", "points_total",
                "(SELECT count(*) FROM verifier.ride_points)",
            ],
            "FROM verifier.rides"
        )
    }

    // MARK: - Statements that fail

    @Test func `a batch that cannot be stored is 500, and the same points are stored later`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-30]))
            world.pass(2)
            try await world.run(Self.breakRides)
            let batch = Course.points([-25, -20, -15])
            for _ in 0..<4 {
                #expect(await verifier.report(rider, batch) == .refused(RideRefusal(.failed)))
            }
            #expect(try await ride(world) == ["active", "", "1", "1"])
            try await world.run(Self.mendRides)
            // What failed was not charged either.
            #expect(await verifier.report(rider, batch).batch?.accepted == 3)
            #expect(try await ride(world) == ["active", "", "4", "4"])
        }
    }

    @Test func `a batch that overlaps what is stored counts only what is new`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-25, -20, -15]))
            // The answer was lost, and the phone adds what it measured meanwhile.
            let answer = await verifier.report(rider, Course.points([-25, -20, -15, -10, -5])).batch
            #expect(answer?.accepted == 2)
            #expect(answer?.ignored == 3)
            #expect(try await ride(world) == ["active", "", "5", "5"])
        }
    }

    @Test func `more than may wait are told to come again, and nothing of theirs is kept`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            // Holds the writer in its first transaction.
            let blocker = world.database.open(connections: 1)
            let (held, hold) = AsyncStream<Void>.makeStream()
            async let holding: Void = blocker.transaction { connection throws(DatabaseError) in
                try connection.script("LOCK TABLE verifier.rides IN ACCESS EXCLUSIVE MODE")
                hold.yield()
                try connection.script("SELECT pg_sleep(1)")
            }
            for await _ in held { break }
            let answers = await withTaskGroup(of: RideReply.Body.self) { group in
                for _ in 0..<(VerifierNode.queueLimit + VerifierNode.batchLimit + 100) {
                    group.addTask { await verifier.start(Rider()) }
                }
                var answers: [RideReply.Body] = []
                for await answer in group { answers.append(answer) }
                return answers
            }
            try await holding
            await blocker.close()
            let refused = answers.filter { $0 == .away }.count
            let started = answers.filter { if case .started = $0 { true } else { false } }.count
            #expect(refused >= 100)
            #expect(started + refused == answers.count)
            #expect(try await world.number("SELECT count(*) FROM verifier.rides") == started)
        }
    }

    @Test func `an end that cannot be stored holds, and is filed with its own reason`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-30]))
            try await world.run(Self.breakRides)
            world.pass(60)
            #expect(await verifier.end(rider, "stationary") == .refused(RideRefusal(.failed)))
            #expect(
                await verifier.report(rider, Course.points([55])) == .ended(because: "stationary")
            )
            await verifier.node.reapOnce()
            #expect(try await ride(world) == ["active", "", "1", "1"])
            try await world.run(Self.mendRides)
            world.pass(1000)
            await verifier.node.reapOnce()
            #expect(try await ride(world) == ["ended", "stationary", "1", "1"])
            #expect(
                try await world.row(
                    ["ended_at = to_timestamp(\(Course.start + 60))"],
                    "FROM verifier.rides"
                ) == ["true"]
            )
        }
    }

    @Test func `a rejection that cannot be stored is filed and costs its point`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            try await world.run(Self.breakRides)
            #expect(
                await verifier.report(rider, Self.offRoute) == .refused(RideRefusal(.failed))
            )
            try await world.run(Self.mendRides)
            await verifier.node.reapOnce()
            #expect(try await ride(world) == ["ended", "off_route", "5", "0"])
            #expect(try await world.number("SELECT score FROM verifier.rider_reputation") == -1)
        }
    }

    @Test func `a rejection that could not be stored is stored when it is sent again`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            try await world.run(Self.breakRides)
            _ = await verifier.report(rider, Self.offRoute)
            try await world.run(Self.mendRides)
            let answer = await verifier.report(rider, Self.offRoute).batch
            #expect(answer?.endReason == "off_route")
            #expect(try await ride(world) == ["ended", "off_route", "5", "5"])
        }
    }

    @Test func `who shares a transaction with what fails is not charged twice`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            try await world.run(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF NEW.vehicle_id = 'bad' THEN RAISE 'broken by the test'; END IF;
                    RETURN NEW; END $$;
                CREATE TRIGGER broken BEFORE INSERT ON verifier.rides
                    FOR EACH ROW EXECUTE FUNCTION fail()
                """
            )
            for round in 0..<10 {
                let rider = Rider()
                _ = await verifier.start(rider)
                async let bad = verifier.start(Rider(), vehicleID: "bad")
                async let good = verifier.report(rider, Course.points([-20]))
                async let worse = verifier.start(Rider(), vehicleID: "bad")
                #expect(await bad == .refused(RideRefusal(.failed)))
                #expect(await worse == .refused(RideRefusal(.failed)))
                #expect(await good.batch?.accepted == 1, "round \(round)")
                #expect(await verifier.report(rider, Course.points([-15])).batch?.accepted == 1)
            }
        }
    }

    // MARK: - Connections that break

    @Test(arguments: SeveringProxy.Moment.allCases)
    func `a lost COMMIT is 503, and the same points sent again count once`(
        moment: SeveringProxy.Moment
    ) async throws {
        try await World.with { world async throws in
            let proxy = try SeveringProxy(world.database)
            let verifier = try await world.verifier(through: proxy.url)
            let rider = Rider()
            _ = await verifier.start(rider)
            let batch = Course.points([-25, -20, -15])
            proxy.severNextCommit(moment)
            #expect(await verifier.report(rider, batch) == .away)
            try await ownsSlots(verifier)
            #expect(await verifier.report(rider, batch).batch?.accepted == 3)
            #expect(try await ride(world) == ["active", "", "3", "3"])
            #expect(await verifier.report(rider, Course.points([-10])).batch?.accepted == 1)
        }
    }

    @Test(arguments: SeveringProxy.Moment.allCases)
    func `a lost COMMIT of an end is repeated to the same summary`(
        moment: SeveringProxy.Moment
    ) async throws {
        try await World.with { world async throws in
            let proxy = try SeveringProxy(world.database)
            let verifier = try await world.verifier(through: proxy.url)
            let rider = Rider()
            _ = await verifier.start(rider)
            world.pass(30)
            let request = UniqueID.random()
            proxy.severNextCommit(moment)
            #expect(await verifier.end(rider, requestID: request) == .away)
            try await ownsSlots(verifier)
            world.pass(30)
            #expect(
                await verifier.end(rider, requestID: request)
                    == .ended(
                        RideEnded(points: 0, matched: 0, corroborated: 0, durationSeconds: 30)
                    )
            )
        }
    }

    @Test(arguments: SeveringProxy.Moment.allCases)
    func `an end whose COMMIT was lost is filed with its own reason`(
        moment: SeveringProxy.Moment
    ) async throws {
        try await World.with { world async throws in
            let proxy = try SeveringProxy(world.database)
            let verifier = try await world.verifier(through: proxy.url)
            let rider = Rider()
            _ = await verifier.start(rider)
            proxy.severNextCommit(moment)
            #expect(await verifier.report(rider, Self.offRoute) == .away)
            try await ownsSlots(verifier)
            await verifier.node.reapOnce()
            let row = try await ride(world)
            #expect(row.prefix(3) == ["ended", "off_route", "5"])
            #expect(try await world.number("SELECT score FROM verifier.rider_reputation") == -1)
            #expect(await verifier.end(rider) == .ended(because: "off_route"))
        }
    }

    @Test func `an end that was lost yields to points that another owner took`() async throws {
        try await World.with { world async throws in
            let proxy = try SeveringProxy(world.database)
            let verifier = try await world.verifier(through: proxy.url)
            let rider = Rider()
            _ = await verifier.start(rider)
            proxy.severNextCommit(.beforeServer)
            #expect(await verifier.end(rider) == .away)
            try await world.run("UPDATE verifier.rides SET points_total = 1, points_matched = 1")
            try await ownsSlots(verifier)
            await verifier.node.reapOnce()
            #expect(try await ride(world) == ["active", "", "1", "0"])
        }
    }

    @Test func `an end that was not stored is stored before its slot is given back`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            try await world.run(Self.breakRides)
            #expect(await verifier.end(rider, "stationary") == .refused(RideRefusal(.failed)))
            try await world.run(Self.mendRides)
            let keeping = Task { try await verifier.node.keepSlots() }
            keeping.cancel()
            try await keeping.value
            #expect(verifier.node.book.ownedSlots.isEmpty)
            #expect(try await ride(world) == ["ended", "stationary", "0", "0"])
        }
    }

    @Test func `with the server away all is 503, and with it back the ride goes on`()
        async throws
    {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        try await World.with(postgres) { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-25, -20, -15]))
            let epoch = try #require(verifier.slots[rider.ride.slot])
            try await postgres.stop()
            world.pass(2)
            let batch = Course.points([-10, -5])
            #expect(await verifier.report(rider, batch) == .away)
            #expect(await verifier.end(rider).refusal != nil)
            #expect(await verifier.start(Rider()).refusal != nil)
            try await eventually("the slots are forgotten") {
                verifier.node.readiness != .ready && verifier.slots.isEmpty
            }
            #expect(await verifier.report(rider, batch) == .away)
            try await postgres.start()
            try await ownsSlots(verifier)
            #expect(try #require(verifier.slots[rider.ride.slot]) > epoch)
            #expect(await verifier.report(rider, batch).batch?.accepted == 2)
            #expect(try await ride(world) == ["active", "", "5", "5"])
        }
    }
}
