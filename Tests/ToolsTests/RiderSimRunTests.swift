import FoundationEssentials
import Synchronization
import Testing
import Transit
import VehiclePositionsKit

@testable import RiderSimulation

@Suite(.timeLimit(.minutes(1))) struct RiderSimRunTests {
    final class Output: Sendable {
        private let text = Mutex<[String]>([])
        var lines: [String] { text.withLock { $0 } }
        func say(_ line: String) { text.withLock { $0.append(line) } }
    }

    let output = Output()
    let clock = EventClock()
    let trip: Trip
    let schedule: ScheduleIndex
    let server: SimulatedServer

    init() throws {
        trip = try SimulatedTrips.straight()
        // 2026-11-30, a Monday; the clock starts at 08:00:50 that day.
        schedule = ScheduleIndex(
            timeZone: .utc,
            trips: [trip],
            calendars: ["W": ServiceCalendar(added: [try #require(ServiceDate("20261130"))])]
        )
        server = SimulatedServer(shape: trip.shape, busyRegistrations: 2)
    }

    func run(_ change: (inout SimulatorOptions) -> Void) async -> Int32 {
        var options = SimulatorOptions()
        options.random = 1
        change(&options)
        let simulator = RiderSimulator(
            options: options,
            schedule: schedule,
            transport: server,
            clock: clock,
            say: output.say
        )
        return await clock.run { await simulator.run() }
    }

    @Test func `rides to the end of the shape and says arrived`() async throws {
        #expect(await run { $0.ridersPerTrip = 3 } == 0)
        let reasons = await server.reasons(count: 3)
        #expect(reasons == Array(repeating: #"{"reason":"arrived"}"#, count: 3))
        #expect(output.lines.last == "rides: 3 arrived; 0 not as expected")
        #expect(output.lines.filter { $0.hasSuffix("pending -> verified") }.count == 3)
        #expect(output.lines.contains { $0.contains("answers 429, waiting 20 s") })
        let points = await server.points
        #expect(points.count == 3)
        for ride in points.values {
            let last = try #require(ride.last)
            let place = Transit.Coordinate(latitude: last.latitude, longitude: last.longitude)
            #expect(trip.shape.project(place).alongShape > 950)
            // The vehicle was 250 m along when the program started, and went on meanwhile.
            let first = try #require(ride.first)
            let start = Transit.Coordinate(latitude: first.latitude, longitude: first.longitude)
            #expect(trip.shape.project(start).alongShape > 200)
        }
        #expect(Set(points.values.map { $0.first?.latitude }).count == 3)
    }

    @Test func `is rejected when it leaves the route, as expected or not`() async throws {
        let leave: (inout SimulatorOptions) -> Void = {
            $0.offRouteAfterSeconds = 10
            $0.startsAtShapeStart = true
        }
        let asExpected = await run {
            leave(&$0)
            $0.expectedEnd = "off_route"
        }
        #expect(asExpected == 0)
        #expect(output.lines.last == "rides: 1 off_route; 0 not as expected")
        #expect(output.lines.contains("rider 1.1: verified -> rejected"))
        let reasons = await server.reasons(count: 0)
        #expect(reasons.isEmpty)
        #expect(await run(leave) == 1)
        #expect(output.lines.last == "rides: 1 off_route; 1 not as expected")
    }

    @Test func `gets off when its time is up`() async {
        #expect(await run { $0.durationSeconds = 20 } == 0)
        let reasons = await server.reasons(count: 1)
        #expect(reasons == [#"{"reason":"user_requested"}"#])
    }

    @Test func `moves by the timetable when asked to`() async throws {
        let code = await run {
            $0.followsSchedule = true
            $0.noise = 0
        }
        #expect(code == 0)
        for point in try #require(await server.points["ride1"]) {
            let offset = Double(point.timestamp - 1_795_996_800)
            let place = Transit.Coordinate(latitude: point.latitude, longitude: point.longitude)
            let error = trip.shape.project(place).alongShape - trip.scheduledAlong(at: offset)
            #expect(abs(error) < 20)
        }
    }

    @Test func `says when there is nothing to ride`() async {
        #expect(await run { $0.startDate = "20261201" } == 2)
        #expect(output.lines.last == "no trip is under way now")
        let unknown = await run {
            $0.random = 0
            $0.trips = ["T9"]
        }
        #expect(unknown == 2)
        #expect(output.lines.last == "the schedule has no trip T9 with a shape")
    }

    @Test func `keeps its riders in a file between runs`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "riders-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for _ in 0..<2 {
            let code = await run {
                $0.installations = folder.path
                $0.durationSeconds = 5
            }
            #expect(code == 0)
        }
        let registrations = await server.calls.filter { $0 == "register" }.count
        // Two busy answers, then one registration for both runs.
        #expect(registrations == 3)
    }

    @Test(arguments: [
        ("garbage", "cannot be read as a file of riders"), (nil, "cannot be kept in"),
    ])
    func `says why riders cannot be kept, before anybody registers`(
        content: String?,
        sentence: String
    ) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try content.map { try Data($0.utf8).write(to: URL(filePath: path)) }
        // Without a file the name is one in a folder that does not exist.
        let file = content == nil ? path + "/riders" : path
        #expect(await run { $0.installations = file } == 2)
        #expect(output.lines.last?.contains(sentence) == true)
        #expect(output.lines.last?.contains(file) == true)
        #expect(await server.calls.isEmpty)
    }

    @Test func `says what a verified ride is worth to the feed`() async {
        #expect(await run { $0.durationSeconds = 20 } == 0)
        #expect(
            output.lines.contains { $0.contains("verified (for the feed if another rider agrees)") }
        )
        #expect(!output.lines.contains { $0.contains("not published") })
    }

    @Test func `chooses only trips that run now`() throws {
        let start: UnixSeconds = 1_795_996_800 + 28_800
        for (second, count) in [(-1, 0), (0, 1), (200, 1), (201, 0)] {
            let choices = schedule.tripsUnderWay(at: start + UnixSeconds(second), on: nil)
            #expect(choices.count == count)
        }
        #expect(schedule.tripsUnderWay(at: start + 86_400, on: nil).isEmpty)
    }
}
