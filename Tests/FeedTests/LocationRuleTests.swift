import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Every row of the validation tables of spec 1.6, over HTTP; each boundary from both sides.
@Suite(.timeLimit(.minutes(2))) struct LocationRuleTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        /// nil when it is accepted.
        let error: String?

        init(_ description: String, _ body: ReportBody, _ error: String? = nil) {
            testDescription = description
            self.body = body.text
            self.error = error
        }
    }

    private static let now = ManualClock().now
    private static let ok = ReportBody()
    private static let characters =
        "vehicle_id must contain only alphanumeric characters, dots, hyphens, and underscores"
    private static let zero = "latitude and longitude cannot both be zero (likely GPS error)"
    private static let window = "timestamp must be within 5 minutes of server time"
    private static let bearing = "bearing must be between 0 and 360 (inclusive)"

    private static func text(_ count: Int) -> String { String(repeating: "a", count: count) }

    /// A report with one member that is a text.
    private static func with(_ name: String, _ value: String) -> ReportBody {
        ok.with(name, "\"\(value)\"")
    }

    static let vehicles = [
        Row("no vehicle", ok.with("vehicle_id", nil), "vehicle_id is required"),
        Row("null as vehicle", ok.with("vehicle_id", "null"), "vehicle_id is required"),
        Row("an empty vehicle", with("vehicle_id", ""), "vehicle_id is required"),
        Row("one character", with("vehicle_id", "b")),
        Row("50 characters", with("vehicle_id", text(50))),
        Row(
            "51 characters",
            with("vehicle_id", text(51)),
            "vehicle_id must be at most 50 characters"
        ),
        Row("every kind of character", with("vehicle_id", "aZ09._-")),
        Row("a colon", with("vehicle_id", "rider:T1"), characters),
        Row("a blank", with("vehicle_id", "bus 1"), characters),
        Row("an accent", with("vehicle_id", "büs"), characters),
        Row("a slash", with("vehicle_id", "a/b"), characters),
        Row("a trailing line feed", with("vehicle_id", #"bus\n"#), characters),
    ]
    static let trips = [
        Row("100 characters of trip", with("trip_id", text(100))),
        Row("101 of trip", with("trip_id", text(101)), "trip_id must be at most 100 characters"),
        Row(
            "100 characters that are two bytes",
            with("trip_id", String(repeating: "é", count: 100))
        ),
        Row("100 characters of route", with("route_id", text(100))),
        Row("101 of route", with("route_id", text(101)), "route_id must be at most 100 characters"),
        Row("a date with a trip", ok.on("T1", "20260216")),
        Row("a date with a route", with("route_id", "R1").with("start_date", "\"20260216\"")),
        Row("an empty date", with("start_date", "")),
        Row("seven digits", ok.on("T1", "2026021"), "start_date must be YYYYMMDD"),
        Row("nine digits", ok.on("T1", "202602160"), "start_date must be YYYYMMDD"),
        Row("letters", ok.on("T1", "2026O216"), "start_date must be YYYYMMDD"),
        Row("dashes", ok.on("T1", "2026-2-6"), "start_date must be YYYYMMDD"),
        Row("a leap day", ok.on("T1", "20240229")),
        Row(
            "a leap day in another year",
            ok.on("T1", "20260229"),
            "start_date must be a valid YYYYMMDD date"
        ),
        Row("month 13", ok.on("T1", "20261301"), "start_date must be a valid YYYYMMDD date"),
        Row("day 0", ok.on("T1", "20260200"), "start_date must be a valid YYYYMMDD date"),
        Row(
            "a date alone",
            with("start_date", "20260216"),
            "start_date requires trip_id or route_id"
        ),
    ]
    static let places = [
        Row("both zero", ReportBody(latitude: "0", longitude: "0"), zero),
        Row("both zero, written otherwise", ReportBody(latitude: "-0.0", longitude: "0e9"), zero),
        Row("zero latitude", ReportBody(latitude: "0")),
        Row("zero longitude", ReportBody(longitude: "0")),
        Row("south pole", ReportBody(latitude: "-90")),
        Row("north pole", ReportBody(latitude: "90")),
        Row(
            "beyond the north",
            ReportBody(latitude: "90.000001"),
            "latitude must be between -90 and 90"
        ),
        Row(
            "beyond the south",
            ReportBody(latitude: "-90.000001"),
            "latitude must be between -90 and 90"
        ),
        Row("dateline west", ReportBody(longitude: "-180")),
        Row("dateline east", ReportBody(longitude: "180")),
        Row(
            "beyond the east",
            ReportBody(longitude: "180.000001"),
            "longitude must be between -180 and 180"
        ),
        Row(
            "beyond the west",
            ReportBody(longitude: "-180.000001"),
            "longitude must be between -180 and 180"
        ),
        Row("no latitude", ok.with("latitude", nil), "latitude and longitude are required"),
        Row("no longitude", ok.with("longitude", nil), "latitude and longitude are required"),
    ]
    static let times = [
        Row("no time", ok.with("timestamp", nil), "timestamp must be positive"),
        Row("time zero", ok.with("timestamp", "0"), "timestamp must be positive"),
        Row("a negative time", ok.with("timestamp", "-1"), "timestamp must be positive"),
        Row("the first second", ok.with("timestamp", "1"), window),
        Row("300 s old", ReportBody(at: now - 300)),
        Row("301 s old", ReportBody(at: now - 301), window),
        Row("300 s ahead", ReportBody(at: now + 300)),
        Row("301 s ahead", ReportBody(at: now + 301), window),
        Row("milliseconds", ReportBody(at: now * 1000), window),
        Row("the last second there is", ok.with("timestamp", "9223372036854775807"), window),
    ]
    static let movements = [
        Row("bearing 0", ok.with("bearing", "0")),
        Row("bearing 360", ok.with("bearing", "360")),
        Row("bearing below 0", ok.with("bearing", "-0.1"), bearing),
        Row("bearing beyond 360", ok.with("bearing", "360.1"), bearing),
        Row("null as bearing", ok.with("bearing", "null")),
        Row("speed 0", ok.with("speed", "0")),
        Row("speed below 0", ok.with("speed", "-0.1"), "speed must be non-negative"),
        Row("a speed beyond sense", ok.with("speed", "1e308")),
        Row("any accuracy", ok.with("accuracy", "-5")),
        Row("a huge accuracy", ok.with("accuracy", "1e308")),
    ]
    static let shapes = [
        Row(
            "a driver in the body",
            ok.with("driver_id", "\"d\""),
            #"invalid JSON: unknown field "driver_id""#
        ),
        Row(
            "a text as latitude",
            ok.with("latitude", "\"47\""),
            #"field "latitude" has invalid type"#
        ),
        Row(
            "a number as vehicle",
            ok.with("vehicle_id", "7"),
            #"field "vehicle_id" has invalid type"#
        ),
        Row(
            "a fraction as time",
            ok.with("timestamp", "\(now).5"),
            #"field "timestamp" has invalid type"#
        ),
        Row(
            "a time beyond 64 bits",
            ok.with("timestamp", "9223372036854775808"),
            #"field "timestamp" is out of range"#
        ),
        Row(
            "an object as trip",
            ok.with("trip_id", "{}"),
            #"field "trip_id" has invalid type"#
        ),
    ]
    static let all = vehicles + trips + places + times + movements + shapes

    @Test func `single reports obey every row`() async throws {
        try await withDrivers { world async throws in
            for row in Self.all {
                let answer = try await world.post(
                    "/api/v1/locations",
                    as: .driver(.random()),
                    row.body
                )
                #expect(answer.status == (row.error == nil ? 201 : 400), "\(row.testDescription)")
                #expect(answer.refusal == row.error, "\(row.testDescription)")
            }
            let accepted = Self.all.count { $0.error == nil }
            #expect(accepted > 20)
        }
    }

    /// In a batch a row that is too old by minutes is not refused, and a refusal names its place.
    @Test func `batches obey every row, each by itself`() async throws {
        let rows = Self.all.filter { row in
            !["301 s old", "the first second"].contains(row.testDescription)
        }
        try await withDrivers { world async throws in
            let body = "{\"locations\":[" + rows.map(\.body).joined(separator: ",") + "]}"
            let answer = try await world.post(
                "/api/v1/locations/batch",
                as: .driver(.random()),
                body
            )
            #expect(answer.status == 200)
            let rejected = try answer.json["rejected"]?.elements ?? []
            let expected = rows.enumerated().filter { $0.element.error != nil }
            #expect(
                rejected.compactMap { $0["index"]?.number } == expected.map { Double($0.offset) }
            )
            #expect(
                rejected.compactMap { $0["error"]?.text }
                    == expected.compactMap { item in
                        // The path of a member inside the batch begins with the list's name.
                        item.element.error?.replacing(
                            "field \"",
                            with: "field \"locations.",
                            maxReplacements: 1
                        )
                    }
            )
        }
    }

    @Test func `the first rule that is broken is named`() async throws {
        // Each body breaks a rule and all later ones.
        let broken = ReportBody("a b", at: 0, latitude: "91", longitude: "181")
            .with("trip_id", "\"\(Self.text(101))\"").with("route_id", "\"\(Self.text(101))\"")
            .with("start_date", "\"x\"").with("bearing", "-1").with("speed", "-1")
        let steps: [(String, (ReportBody) -> ReportBody)] = [
            (Self.characters, { $0.with("vehicle_id", "\"b\"") }),
            ("trip_id must be at most 100 characters", { $0.with("trip_id", nil) }),
            ("route_id must be at most 100 characters", { $0.with("route_id", nil) }),
            ("start_date must be YYYYMMDD", { $0.with("start_date", "\"20260216\"") }),
            ("start_date requires trip_id or route_id", { $0.with("start_date", nil) }),
            ("latitude must be between -90 and 90", { $0.with("latitude", "1") }),
            ("longitude must be between -180 and 180", { $0.with("longitude", "1") }),
            ("timestamp must be positive", { $0.with("timestamp", "\(Self.now)") }),
            (Self.bearing, { $0.with("bearing", "1") }),
            ("speed must be non-negative", { $0.with("speed", "1") }),
        ]
        try await withDrivers { world async throws in
            var body = broken
            for (error, mend) in steps {
                let answer = try await world.post(
                    "/api/v1/locations",
                    as: .driver(.random()),
                    body.text
                )
                #expect(answer.refusal == error)
                body = mend(body)
            }
            #expect(try await world.report(.random(), body) == 201)
        }
    }

    @Test(arguments: [
        ("[]", "invalid JSON: request body must contain a single JSON object and no trailing data"),
        (
            "{} {}",
            "invalid JSON: request body must contain a single JSON object and no trailing data"
        ),
        ("", "invalid JSON: unexpected end of input"),
        ("{\"latitude\":1e999}", "invalid JSON: number out of range at byte 12"),
        ("{\"latitude\":NaN}", "invalid JSON: unexpected character at byte 12"),
        ("{\"trip_id\":\"\\u0000\"}", "invalid JSON: malformed escape at byte 12"),
        ("{\"a\":1,\"a\":1}", "invalid JSON: duplicate key \"a\""),
    ])
    func `hostile bodies are 400 on both paths`(body: String, error: String) async throws {
        try await withDrivers { world async throws in
            for path in ["/api/v1/locations", "/api/v1/locations/batch"] {
                let answer = try await world.post(path, as: .driver(.random()), body)
                #expect(answer.status == 400)
                #expect(answer.refusal == error)
            }
        }
    }

    @Test(arguments: [
        ("{}", "locations must contain at least one location"),
        ("{\"locations\":[]}", "locations must contain at least one location"),
        ("{\"locations\":null}", "locations must contain at least one location"),
        ("{\"locations\":{}}", "field \"locations\" has invalid type"),
        ("{\"locations\":[1]}", "field \"locations\" has invalid type"),
        ("{\"locations\":[{}],\"x\":1}", "invalid JSON: unknown field \"x\""),
    ])
    func `a batch is a list of objects and nothing else`(body: String, error: String) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post(
                "/api/v1/locations/batch",
                as: .driver(.random()),
                body
            )
            #expect(answer.status == 400)
            #expect(answer.refusal == error)
        }
    }

    @Test(
        arguments: [
            (nil, 415), ("text/plain", 415), ("application/jsonx", 415), ("application/json", 201),
            ("Application/JSON; charset=utf-8", 201),
        ] as [(String?, Int)]
    )
    func `the media type is JSON`(type: String?, status: Int) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.send(
                .post,
                "/api/v1/locations",
                as: .driver(.random()),
                Self.ok.text,
                contentType: type
            )
            #expect(answer.status == status)
            if status == 415 {
                #expect(answer.refusal == "Content-Type must be application/json")
            }
        }
    }

    @Test func `a body beyond a mebibyte is 413`() async throws {
        try await withDrivers { world async throws in
            let blank = String(repeating: " ", count: (1 << 20) - Self.ok.text.utf8.count)
            for (padding, status) in [(blank, 201), (blank + " ", 413)] {
                let answer = try await world.post(
                    "/api/v1/locations",
                    as: .driver(.random()),
                    Self.ok.text + padding
                )
                #expect(answer.status == status)
            }
        }
    }
}
