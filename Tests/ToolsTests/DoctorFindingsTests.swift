import Schedule
import Testing
import Transit

@testable import Operations

/// What the doctor makes of what it reads; without a database.
@Suite struct DoctorFindingsTests {
    private static let half = Dictionary(
        uniqueKeysWithValues: (0..<128).map { ($0, Int64($0 + 1)) }
    )
    private static let other = Dictionary(
        uniqueKeysWithValues: (128..<256).map { ($0, Int64($0 + 1)) }
    )

    private static func owner(
        _ instance: String?,
        _ slots: [Int: Int64],
        hash: String = "ff"
    ) -> DoctorReading.Owner {
        .init(
            instance: instance,
            backendPID: 42,
            slots: slots,
            scheduleHash: hash,
            scheduleSource: "gtfs.zip"
        )
    }

    private static func instance(
        _ service: String,
        _ name: String,
        silence: Double = 0.4
    ) -> DoctorReading.Instance {
        .init(service: service, name: name, silence: silence, endpoint: "ipc:///x")
    }

    private static func schedule(
        until last: String,
        riderTrips: Int
    ) -> DoctorReading.ScheduleInUse {
        .init(
            source: "gtfs.zip",
            outlook: .init(lastServiceDate: .init(last), trips: 12, riderTrips: riderTrips)
        )
    }

    /// Two verifiers and a feed, as they should be.
    private static var well: DoctorReading {
        var reading = DoctorReading()
        reading.server = "15.1"
        reading.schemas = [
            .init(name: "bus", applied: ["0001-a"], known: ["0001-a"]),
            .init(name: "verifier", applied: ["0001-a", "0002-b"], known: ["0001-a", "0002-b"]),
        ]
        reading.instances = [
            instance("feed", "feed-1"), instance("verifier", "v1"), instance("verifier", "v2"),
        ]
        reading.owners = [owner("v1", half), owner("v2", other)]
        reading.activeRides = [0: 2, 200: 1]
        // It ended yesterday, whose last trips may still run.
        reading.schedule = schedule(until: "20260215", riderTrips: 9)
        reading.points = .init(
            days: ["20260216", "20260217", "20260218"],
            strays: 0,
            today: "20260216",
            tomorrow: "20260217"
        )
        return reading
    }

    /// A change of what is well, and what the doctor says to it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout DoctorReading) -> Void
        let finding: String
    }

    static let cases = [
        Case(
            testDescription: "a schema is missing",
            change: { $0.schemas[1] = .init(name: "verifier", applied: nil, known: ["0001-a"]) },
            finding: "the schema verifier is missing: run `alongside migrate`"
        ),
        Case(
            testDescription: "a migration is missing",
            change: {
                $0.schemas[1] = .init(
                    name: "verifier",
                    applied: ["0001-a"],
                    known: ["0001-a", "0002-b"]
                )
            },
            finding: "the schema verifier lacks migration 0002-b: run `alongside migrate`"
        ),
        Case(
            testDescription: "a migration is of a newer version",
            change: {
                $0.schemas[0] = .init(
                    name: "bus",
                    applied: ["0001-a", "0002-z"],
                    known: ["0001-a"]
                )
            },
            finding: "the schema bus has migration 0002-z of a newer version: "
                + "run that version, or use another database"
        ),
        Case(
            testDescription: "a service is not there",
            change: { $0.instances.removeFirst() },
            finding: "no feed lives: start one, and look at its log if it ends"
        ),
        Case(
            testDescription: "a service is silent for longer than 4 s",
            change: { $0.instances[0] = instance("feed", "feed-1", silence: 4.1) },
            finding: "no feed lives: start one, and look at its log if it ends"
        ),
        Case(
            testDescription: "an owner is frozen",
            change: { $0.instances[2] = instance("verifier", "v2", silence: 4.1) },
            finding: "v2 is frozen and holds 128 slots: "
                + "another verifier cuts it off within 5 s; if none runs, start one"
        ),
        Case(
            testDescription: "slots are free",
            change: { $0.owners[1] = owner("v2", other.filter { $0.key != 255 }) },
            finding: "1 of 256 slots have no owner: a verifier that lives takes them within a "
                + "second; look at the verifiers' /ready if they stay free"
        ),
        Case(
            testDescription: "a stranger holds slots",
            change: { $0.owners[1] = owner(nil, other) },
            finding: "the database session 42 holds 128 slots and belongs to no verifier: "
                + "end it with SELECT pg_terminate_backend(42)"
        ),
        Case(
            testDescription: "the shares differ by two",
            change: {
                $0.owners = [
                    owner("v1", half.filter { $0.key != 0 }),
                    owner("v2", other.merging([0: 1]) { $1 }),
                ]
            },
            finding: "the verifiers' shares are from 127 to 129 slots: "
                + "they even out within seconds after one has come or gone; ask again"
        ),
        Case(
            testDescription: "the calendar ended two days ago",
            change: { $0.schedule = schedule(until: "20260214", riderTrips: 9) },
            finding: "riders can do nothing with the schedule from gtfs.zip (its calendar ended on "
                + "20260214, so no trip runs any more): set GTFS_STATIC_URL to one that is in force "
                + "and has shapes, or RIDER_MODE_ENABLED=false"
        ),
        Case(
            testDescription: "no trip is for riders",
            change: { $0.schedule = schedule(until: "20260215", riderTrips: 0) },
            finding:
                "riders can do nothing with the schedule from gtfs.zip (none of its 12 trips has "
                + "a shape and times, so no rider can report on one): set GTFS_STATIC_URL to one that "
                + "is in force and has shapes, or RIDER_MODE_ENABLED=false"
        ),
        Case(
            testDescription: "two schedules are in use",
            change: { $0.owners[1] = owner("v2", other, hash: "ee") },
            finding: "the verifiers work with 2 different schedules: the refresh of one of them "
                + "fails or is still to come; look for \"schedule refresh failed\" in their logs"
        ),
        Case(
            testDescription: "tomorrow has no partition",
            change: {
                $0.points = .init(
                    days: ["20260216"],
                    strays: 3,
                    today: "20260216",
                    tomorrow: "20260217"
                )
            },
            finding: "points of 20260217 have no partition: a verifier makes it within a minute; "
                + "look for \"retention of points failed\" in its log"
        ),
    ]

    private func findings(_ reading: DoctorReading, hasRiders: Bool = true) -> [String] {
        reading.findings(services: ["feed", "verifier"], hasRiders: hasRiders)
            .map(\.description)
    }

    @Test func `finds nothing where all is well`() {
        #expect(findings(Self.well).isEmpty)
    }

    @Test func `four seconds of silence and a difference of one are well`() {
        var reading = Self.well
        reading.instances[1] = Self.instance("verifier", "v1", silence: 4)
        reading.owners = [
            Self.owner("v1", Self.half.filter { $0.key < 86 }),
            Self.owner(
                "v2",
                Self.half.filter { $0.key >= 86 }.merging(Self.other) { $1 }
                    .filter { $0.key < 171 }
            ),
            Self.owner("v3", Self.other.filter { $0.key >= 171 }),
        ]
        reading.instances.append(Self.instance("verifier", "v3"))
        #expect(findings(reading).isEmpty, "86, 85 and 85 slots")
    }

    @Test(arguments: cases) func `says what is wrong and what to do`(fault: Case) {
        var reading = Self.well
        fault.change(&reading)
        #expect(findings(reading).contains(fault.finding), "\(findings(reading))")
    }

    @Test func `without riders no slot needs an owner`() {
        var reading = Self.well
        reading.owners = []
        #expect(findings(reading, hasRiders: false).isEmpty)
        #expect(
            findings(reading) == [
                "256 of 256 slots have no owner: a verifier that lives takes them within a second; "
                    + "look at the verifiers' /ready if they stay free"
            ]
        )
    }

    @Test func `shows who owns what`() {
        var reading = Self.well
        reading.clockOffset = 60
        reading.owners.append(Self.owner("v3", [:]))
        #expect(
            reading.report == """
                database   PostgreSQL 15.1
                           schema bus: 1 of 1 migrations
                           schema verifier: 2 of 2 migrations
                           clock shifted by 60 s
                instances  feed-1  lives, heartbeat 0.4 s ago  ipc:///x
                           v1      lives, heartbeat 0.4 s ago  ipc:///x
                           v2      lives, heartbeat 0.4 s ago  ipc:///x
                slots      v1  128 slots, 2 rides, epochs 1 to 128
                           v2  128 slots, 1 rides, epochs 129 to 256
                           v3  0 slots, 0 rides, frozen
                           free: 0
                           v1: 0-127
                           v2: 128-255
                schedule   v1: ff from gtfs.zip
                           v2: ff from gtfs.zip
                           v3: ff from gtfs.zip
                           9 of 12 trips for riders, until 20260215
                points     partitions 20260216 20260217 20260218; 0 rows in the default one
                """
        )
    }
}
