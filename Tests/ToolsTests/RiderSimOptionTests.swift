import Testing
import VehiclePositionsKit

@testable import RiderSimulation

@Suite struct RiderSimOptionTests {
    @Test func `has the seed's defaults`() throws {
        let options = try SimulatorOptions(arguments: ["ridersim", "-trip", "T1"])
        var expected = SimulatorOptions()
        expected.trips = ["T1"]
        #expect(options == expected)
        #expect(options.url == "http://localhost:8080")
        #expect(options.gtfs == "Tests/Fixtures/fixture.zip")
        #expect(options.intervalSeconds == 5)
        #expect(options.speed == 10)
        #expect(options.noise == 8)
        #expect(options.ridersPerTrip == 1)
    }

    @Test func `reads flags with one dash, two dashes and an equals sign`() throws {
        let options = try SimulatorOptions(arguments: [
            "ridersim", "-trip", "T1", "--trip=T2", "-random=3", "--start-date", "20260902",
            "-interval", "1s", "-speed", "12.5", "-noise=0", "-offroute-after", "1m30s",
            "--riders-per-trip", "2", "-duration", "2h", "-expect-end", "off_route", "-seed", "7",
            "-from-start", "--follow-schedule", "-repeat", "-installations", "f",
            "-clock-offset", "-90s", "-url", "https://bus.example", "-gtfs", "x.zip",
        ])
        #expect(options.trips == ["T1", "T2"])
        #expect(options.random == 3)
        #expect(options.startDate == "20260902")
        #expect(options.intervalSeconds == 1)
        #expect(options.speed == 12.5)
        #expect(options.noise == 0)
        #expect(options.offRouteAfterSeconds == 90)
        #expect(options.ridersPerTrip == 2)
        #expect(options.durationSeconds == 7200)
        #expect(options.seed == 7)
        #expect(options.startsAtShapeStart && options.followsSchedule && options.repeats)
        #expect(options.clockOffsetSeconds == -90)
        #expect(options.expects(.offRoute) && !options.expects(.arrived))
    }

    @Test func `reports every fault at once`() {
        #expect {
            try SimulatorOptions(arguments: [
                "ridersim", "-speed", "fast", "-random", "0", "-start-date", "20260230", "stray",
                "-bogus", "-duration", "5", "-interval", "61s", "-url", "not a url", "-trip",
            ])
        } throws: { error in
            (error as? OptionFaults)?.sentences == [
                "-speed must be from 0.1 to 60.0, not \"fast\"",
                "-random must be from 1 to 1000, not \"0\"", "-start-date must be YYYYMMDD",
                "-duration must be from 0s to 24h with a unit, such as 5s, not \"5\"",
                "-interval must be from 1s to 1m with a unit, such as 5s, not \"61s\"",
                "-url must be an http or https URL, not \"not a url\"",
                "unknown or ambiguous option -bogus", "the option -trip needs a value",
                "unexpected argument \"stray\"", "name a trip with -trip, or let -random choose",
            ]
        }
    }

    @Test func `expects an arrival, or getting off in time when asked to`() {
        var options = SimulatorOptions()
        #expect(options.expects(.arrived) && !options.expects(.userRequested))
        options.durationSeconds = 5
        #expect(options.expects(.arrived) && options.expects(.userRequested))
        #expect(!options.expects(.offRoute))
        options.expectedEnd = "arrived"
        #expect(!options.expects(.userRequested))
    }
}
