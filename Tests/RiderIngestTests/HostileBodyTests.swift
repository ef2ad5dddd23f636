import Bus
import Messages
import Testing
import Transit
import Web

@testable import RiderIngestService

/// Bodies that no phone sends: each is a documented 4xx, and none reaches a verifier.
@Suite(.timeLimit(.minutes(2))) struct HostileBodyTests {
    /// A body and the answer to it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: [UInt8]
        let status: Int
        let error: String
        let code: String

        init(_ name: String, _ body: String, _ status: Int, _ error: String, _ code: String) {
            self.init(name, Array(body.utf8), status, error, code)
        }

        init(_ name: String, _ body: [UInt8], _ status: Int, _ error: String, _ code: String) {
            testDescription = name
            self.body = body
            self.status = status
            self.error = error
            self.code = code
        }

        static func json(_ name: String, _ body: String, _ reason: String) -> Row {
            Row(name, body, 400, "invalid JSON: \(reason)", "json.invalid")
        }

        static func type(_ name: String, _ body: String, _ field: String) -> Row {
            Row(name, body, 400, "field \\\"\(field)\\\" has invalid type", "json.invalid_type")
        }

        static func unknown(_ name: String, _ body: String, _ field: String) -> Row {
            Row(
                name,
                body,
                400,
                "invalid JSON: unknown field \\\"\(field)\\\"",
                "json.unknown_field"
            )
        }
    }

    // MARK: - On every path

    /// What is no JSON object of ours, whatever was expected.
    static let anywhere: [Row] = [
        .json("nothing", "", "unexpected end of input"),
        .json("spaces", "  \n", "unexpected end of input"),
        .json("an array", "[]", Row.oneObject),
        .json("a text", "\"x\"", Row.oneObject),
        .json("null", "null", Row.oneObject),
        .json("a number", "1e5", Row.oneObject),
        .json("two objects", "{} {}", Row.oneObject),
        .json("an object and rubbish", "{}x", Row.oneObject),
        .json("an open object", "{\"a\":", "unexpected end of input"),
        .json("a trailing comma", "{\"a\":1,}", "unexpected character at byte 7"),
        .json("a comment", "{/**/}", "unexpected character at byte 1"),
        .json("single quotes", "{'a':1}", "unexpected character at byte 1"),
        .json("NaN", "{\"a\":NaN}", "unexpected character at byte 5"),
        .json("Infinity", "{\"a\":Infinity}", "unexpected character at byte 5"),
        .json("-Infinity", "{\"a\":-Infinity}", "malformed number at byte 5"),
        .json("a plus sign", "{\"a\":+1}", "unexpected character at byte 5"),
        .json("a leading zero", "{\"a\":01}", "malformed number at byte 5"),
        .json("hexadecimal", "{\"a\":0x10}", "unexpected character at byte 6"),
        .json("beyond a double", "{\"a\":1e309}", "number out of range at byte 5"),
        .json("beyond a double, below zero", "{\"a\":-1e309}", "number out of range at byte 5"),
        .json(
            "400 digits",
            "{\"a\":1\(String(repeating: "0", count: 400))}",
            "number out of range at byte 5"
        ),
        .json("a repeated key", "{\"a\":1,\"a\":1}", "duplicate key \\\"a\\\""),
        .json("nested 33 deep", deep(33), "more than 32 nested values"),
        .json("nested 10,000 deep", deep(10_000), "more than 32 nested values"),
        .json("an escaped NUL", "{\"a\\u0000\":1}", "malformed escape at byte 3"),
        .json("half a pair", "{\"\\uD800\":1}", "malformed escape at byte 2"),
        .json("a raw control character", "{\"\u{1}\":1}", "control character in text at byte 2"),
        Row(
            "invalid UTF-8",
            Array("{\"".utf8) + [0xFF, 0xFE] + Array("\":1}".utf8),
            400,
            "invalid JSON: text is not UTF-8 at byte 2",
            "json.invalid"
        ),
        Row(
            "an overlong slash",
            Array("{\"".utf8) + [0xC0, 0xAF] + Array("\":1}".utf8),
            400,
            "invalid JSON: text is not UTF-8 at byte 2",
            "json.invalid"
        ),
        Row(
            "a byte order mark",
            [0xEF, 0xBB, 0xBF] + Array("{}".utf8),
            400,
            "invalid JSON: unexpected character at byte 0",
            "json.invalid"
        ),
        Row(
            "UTF-16",
            [0x7B, 0, 0x7D, 0],
            400,
            "invalid JSON: unexpected character at byte 1",
            "json.invalid"
        ),
        .unknown("an unknown field", "{\"a\":1}", "a"),
        .unknown("a name of the prototype", "{\"__proto__\":{}}", "__proto__"),
        Row(
            "more than 64 KiB",
            "{\"a\":\"\(String(repeating: "x", count: 64 * 1024))\"}",
            413,
            "request body too large",
            "body.too_large"
        ),
    ]

    private static let point = "{\"latitude\":1,\"longitude\":2,\"timestamp\":5}"

    private static func deep(_ depth: Int) -> String {
        "{\"a\":" + String(repeating: "[", count: depth - 1)
            + String(repeating: "]", count: depth - 1) + "}"
    }

    @Test(arguments: [
        "rides", "rides/\(UniqueID(high: 1, low: 2))/positions",
        "rides/\(UniqueID(high: 1, low: 2))/end",
    ])
    func `is refused on every path`(path: String) async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            for row in Self.anywhere { try await expect(row, at: path, of: ingest) }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    // MARK: - Positions

    static let positions: [Row] = [
        .type("positions is a text", "{\"positions\":\"x\"}", "positions"),
        .type("positions is an object", "{\"positions\":{}}", "positions"),
        .type("a position is a number", "{\"positions\":[1]}", "positions"),
        .type("a position is null", "{\"positions\":[null]}", "positions"),
        .type("a position is a list", "{\"positions\":[[1,2,3]]}", "positions"),
        .type("latitude is a text", fix("\"latitude\":\"1\""), "positions.latitude"),
        .type("latitude is a flag", fix("\"latitude\":true"), "positions.latitude"),
        .type("longitude is a list", fix("\"longitude\":[2]"), "positions.longitude"),
        .type("timestamp is a text", fix("\"timestamp\":\"5\""), "positions.timestamp"),
        .type("timestamp has a fraction", fix("\"timestamp\":5.5"), "positions.timestamp"),
        .type("timestamp has an exponent", fix("\"timestamp\":5e0"), "positions.timestamp"),
        .type("accuracy is an object", fix("\"accuracy\":{}"), "positions.accuracy"),
        .type("speed is a text", fix("\"speed\":\"fast\""), "positions.speed"),
        .type("bearing is a flag", fix("\"bearing\":false"), "positions.bearing"),
        Row(
            "timestamp beyond 64 bits",
            fix("\"timestamp\":9223372036854775808"),
            400,
            "field \\\"positions.timestamp\\\" is out of range",
            "json.out_of_range"
        ),
        Row(
            "timestamp below 64 bits",
            fix("\"timestamp\":-9223372036854775809"),
            400,
            "field \\\"positions.timestamp\\\" is out of range",
            "json.out_of_range"
        ),
        timestamp("timestamp is the least integer", fix("\"timestamp\":-9223372036854775808")),
        timestamp("timestamp is zero", fix("\"timestamp\":0")),
        timestamp("timestamp is null", fix("\"timestamp\":null")),
        coordinates("latitude is 1e308", fix("\"latitude\":1e308")),
        coordinates("longitude is -1e308", fix("\"longitude\":-1e308")),
        coordinates("latitude is just outside", fix("\"latitude\":90.00000000000001")),
        coordinates("longitude is null", fix("\"longitude\":null")),
        .json("accuracy is NaN", fix("\"accuracy\":NaN"), "unexpected character at byte 26"),
        .json("speed is beyond a double", fix("\"speed\":1e400"), "number out of range at byte 23"),
        .json(
            "a repeated key in a point",
            "{\"positions\":[{\"latitude\":1,\"latitude\":1,\"longitude\":2,\"timestamp\":5}]}",
            "duplicate key \\\"latitude\\\""
        ),
        .json(
            "positions twice",
            "{\"positions\":[\(point)],\"positions\":[\(point)]}",
            "duplicate key \\\"positions\\\""
        ),
        .json(
            "a repeated key behind an escape",
            "{\"positions\":[{\"latitude\":1,\"\\u006catitude\":1,\"longitude\":2,\"timestamp\":5}]}",
            "duplicate key \\\"latitude\\\""
        ),
        .unknown(
            "an unknown field of a point",
            fix("\"outcome\":\"matched\""),
            "positions.outcome"
        ),
        .unknown("a field beside positions", "{\"positions\":[\(point)],\"rider\":1}", "rider"),
        Row(
            "13 points",
            "{\"positions\":[\(Array(repeating: point, count: 13).joined(separator: ","))]}",
            400,
            "too many positions in one report",
            "positions.too_many"
        ),
        Row(
            "10,000 points",
            "{\"positions\":[\(Array(repeating: "{}", count: 10_000).joined(separator: ","))]}",
            400,
            "too many positions in one report",
            "positions.too_many"
        ),
    ]

    /// A report of one point with a member of its own; the others are right.
    private static func fix(_ member: String) -> String {
        let name = member.prefix { $0 != ":" }
        let rest = ["\"latitude\":1", "\"longitude\":2", "\"timestamp\":5"]
            .filter { !$0.hasPrefix(name + ":") }
        return "{\"positions\":[{\(([member] + rest).joined(separator: ","))}]}"
    }

    private static func timestamp(_ name: String, _ body: String) -> Row {
        Row(name, body, 400, "each position needs a timestamp", "timestamp.required")
    }

    private static func coordinates(_ name: String, _ body: String) -> Row {
        Row(
            name,
            body,
            400,
            "latitude and longitude must be valid coordinates",
            "coordinates.invalid"
        )
    }

    @Test(arguments: positions) func `a report is refused before a verifier hears of it`(
        row: Row
    ) async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            try await expect(row, at: "rides/\(UniqueID.random())/positions", of: ingest)
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    /// What is strange and still a report.
    @Test(arguments: [
        "{\"positions\":[{\"latitude\":90,\"longitude\":-180,\"timestamp\":9223372036854775807}]}",
        "{\"positions\":[{\"latitude\":0,\"longitude\":0,\"timestamp\":1}]}",
        fix("\"speed\":1e308"), fix("\"accuracy\":-1e308"), fix("\"bearing\":1e-400"),
        "{\"positions\":[{\"l\\u0061titude\":1,\"longitude\":2,\"timestamp\":5}]}",
        "{\"positions\":[{\"latitude\":1,\"longitude\":2,\"timestamp\":5,\"speed\":null}]}",
        " { \"positions\" : [ { \"latitude\" : 1.0e0 , \"longitude\" : 2 , \"timestamp\" : 5 } ] } ",
    ])
    func `strange numbers and spellings are the verifier's to judge`(body: String) async throws {
        let accepted = BatchAccepted(
            state: "pending",
            published: false,
            corroboration: "unavailable",
            accepted: 0,
            ignored: 1,
            offRouteStreak: 0,
            ended: false
        )
        try await withIngest(answering: .reply(.accepted(accepted))) { ingest async throws in
            let path = "rides/\(UniqueID.random())/positions"
            #expect(try await ingest.post(path, body).status == 200)
            guard case .positions(let report) = ingest.verifiers.bodies.first else {
                Issue.record("nothing was asked")
                return
            }
            #expect(
                report.points
                    == (try ReportedPoint.points(of: JSONObject(parsing: Array(body.utf8))))
            )
        }
    }

    // MARK: - Starts and ends

    static let starts: [Row] = [
        .type("trip_id is a number", "{\"trip_id\":1}", "trip_id"),
        .type("trip_id is a list", "{\"trip_id\":[\"T\"]}", "trip_id"),
        .type(
            "start_date is a number",
            "{\"trip_id\":\"T\",\"start_date\":20260216}",
            "start_date"
        ),
        .type("vehicle_id is an object", "{\"trip_id\":\"T\",\"vehicle_id\":{}}", "vehicle_id"),
        .type("route_id is a flag", "{\"trip_id\":\"T\",\"route_id\":true}", "route_id"),
        .unknown("a rider_id", "{\"trip_id\":\"T\",\"rider_id\":\"x\"}", "rider_id"),
        .json(
            "trip_id twice",
            "{\"trip_id\":\"T\",\"trip_id\":\"T\"}",
            "duplicate key \\\"trip_id\\\""
        ),
        Row(
            "a date with a NUL",
            "{\"trip_id\":\"T\",\"start_date\":\"2026021\\u0000\"}",
            400,
            "invalid JSON: malformed escape at byte 36",
            "json.invalid"
        ),
        Row(
            "a date of other digits",
            "{\"trip_id\":\"T\",\"start_date\":\"２０２６０２１６\"}",
            400,
            "start_date must be YYYYMMDD",
            "start_date.invalid"
        ),
        Row(
            "a trip id of 60 KiB",
            "{\"trip_id\":\"\(String(repeating: "x", count: 60 * 1024))\"}",
            400,
            "trip_id is required",
            "trip_id.required"
        ),
    ]

    static let ends: [Row] = [
        .type("reason is a number", "{\"reason\":1}", "reason"),
        .type("reason is a list", "{\"reason\":[\"arrived\"]}", "reason"),
        Row("no reason", "{}", 400, "unknown end reason", "reason.unknown"),
        Row("reason is null", "{\"reason\":null}", 400, "unknown end reason", "reason.unknown"),
        Row("reason is empty", "{\"reason\":\"\"}", 400, "unknown end reason", "reason.unknown"),
        .json(
            "reason twice",
            "{\"reason\":\"arrived\",\"reason\":\"arrived\"}",
            "duplicate key \\\"reason\\\""
        ),
        .unknown("a summary", "{\"reason\":\"arrived\",\"summary\":{}}", "summary"),
    ]

    @Test func `starts and ends are refused before a verifier hears of them`() async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            for row in Self.starts { try await expect(row, at: "rides", of: ingest) }
            for row in Self.ends {
                try await expect(row, at: "rides/\(UniqueID.random())/end", of: ingest)
            }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    // MARK: - Size, media types and codings

    @Test func `10,000 whole points are too large, or cut off while they are sent`() async throws {
        let points = Array(repeating: Self.point, count: 10_000).joined(separator: ",")
        let body = Array("{\"positions\":[\(points)]}".utf8)
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            // The answer comes before the body is read, so a client may see its connection end instead.
            let answer = try? await ingest.send(
                "rides/\(UniqueID.random())/positions",
                body,
                [("Content-Type", "application/json")]
            )
            #expect(answer == nil || answer?.status == 413)
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    @Test func `compression does not get around a limit, and what is no JSON is not read`()
        async throws
    {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            let path = "rides/\(UniqueID.random())/positions"
            for (headers, status) in [
                ([("Content-Type", "text/json")], 415),
                ([("Content-Type", "application/json, application/json")], 415),
                ([("Content-Type", "")], 415),
                ([("Content-Type", "application/json"), ("Content-Encoding", "br")], 415),
                ([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], 400),
            ] {
                let answer = try await ingest.send(path, Array("{}".utf8), headers)
                #expect(answer.status == status, "\(headers)")
            }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    private func expect(_ row: Row, at path: String, of ingest: IngestProcess) async throws {
        let answer = try await ingest.send(path, row.body, [("Content-Type", "application/json")])
        #expect(answer.status == row.status, "\(row.testDescription)")
        #expect(answer.text == refusal(row.error, row.code), "\(row.testDescription)")
    }
}

extension HostileBodyTests.Row {
    fileprivate static let oneObject =
        "request body must contain a single JSON object and no trailing data"
}
