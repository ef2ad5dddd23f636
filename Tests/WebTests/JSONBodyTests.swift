import Testing

@testable import Web

@Suite struct JSONBodyTests {
    private func request(
        _ body: String,
        type: String? = "application/json",
        encoding: String? = nil,
        bytes: [UInt8]? = nil,
        limit: Int = 1000
    ) -> HTTPRequest {
        var headers = HTTPHeaders()
        if let type { headers.append(name: "content-type", value: type) }
        if let encoding { headers.append(name: "Content-Encoding", value: encoding) }
        let body = bytes ?? Array(body.utf8)
        return HTTPRequest(method: .post, headers: headers, body: body, bodyLimit: limit)
    }

    /// Reads the fields of a small body as a handler does.
    private func read(_ request: HTTPRequest) throws(HTTPError) -> String {
        let body = try request.jsonObject()
        let name = try body.string("name", max: 5)
        let count = try body.int("count")
        let share = try body.double("share")
        let flag = try body.bool("flag")
        let inner = try body.object("inner")
        let depth = try inner?.int("depth")
        try inner?.finish()
        try body.finish()
        return "\(name ?? "-") \(count ?? -1) \(share ?? -1) \(flag ?? false) \(depth ?? -1)"
    }

    @Test(arguments: [
        "application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json ;x=y", "application/json; Charset=\"UTF-8\"; x=y",
        "application/json;charset=utf8", "application/json; charset", "application/json;",
        "application/json; x=\"charset\"",
    ])
    func `accepts the media type with parameters`(type: String) throws {
        #expect(try read(request(#"{"count":3}"#, type: type)) == "- 3 -1.0 false -1")
    }

    @Test(arguments: [
        nil, "", "text/plain", "application/jsonx", "application/x-json", "json", ";charset=utf-8",
        // JSON is UTF-8.
        "application/json; charset=utf-16", "application/json;CHARSET=\"UTF-16LE\"",
        "application/json; x=y; charset=iso-8859-1", "application/json; charset=utf-80",
        "application/json; charset=utf-8; charset=utf-16",
    ])
    func `refuses another media type`(type: String?) {
        let error = #expect(throws: HTTPError.self) { try read(request("{}", type: type)) }
        #expect(error?.status == 415)
        #expect(error?.message == "Content-Type must be application/json")
    }

    @Test func `takes null as absent`() throws {
        let body = #"{"name":null,"count":null,"share":0.5,"flag":true,"inner":{"depth":2}} "#
        #expect(try read(request(body)) == "- -1 0.5 true 2")
    }

    @Test(arguments: [
        (
            "{} {}",
            "invalid JSON: request body must contain a single JSON object and no trailing data"
        ),
        (
            "{}x",
            "invalid JSON: request body must contain a single JSON object and no trailing data"
        ),
        (
            "[1]",
            "invalid JSON: request body must contain a single JSON object and no trailing data"
        ),
        ("{", "invalid JSON: unexpected end of input"),
        ("", "invalid JSON: unexpected end of input"),
        (#"{"count":1,}"#, "invalid JSON: unexpected character at byte 11"),
        (#"{"other":1}"#, #"invalid JSON: unknown field "other""#),
        (#"{"inner":{"x":1}}"#, #"invalid JSON: unknown field "inner.x""#),
        (#"{"count":1,"count":2}"#, #"invalid JSON: duplicate key "count""#),
        (#"{"name":1}"#, #"field "name" has invalid type"#),
        (#"{"count":"1"}"#, #"field "count" has invalid type"#),
        (#"{"count":1.5}"#, #"field "count" has invalid type"#),
        (#"{"count":9223372036854775808}"#, #"field "count" is out of range"#),
        (#"{"share":1e999}"#, "invalid JSON: number out of range at byte 9"),
        (#"{"flag":0}"#, #"field "flag" has invalid type"#),
        (#"{"inner":[]}"#, #"field "inner" has invalid type"#),
        (#"{"inner":{"depth":"x"}}"#, #"field "inner.depth" has invalid type"#),
        (#"{"name":"abcdef"}"#, "name must be at most 5 characters"),
    ])
    func `says what is wrong`(body: String, message: String) {
        let error = #expect(throws: HTTPError.self) { try read(request(body)) }
        #expect(error?.status == 400)
        #expect(error?.message == message)
    }

    @Test func `inflates gzip up to the limit`() throws {
        let text = #"{"name":"abc"}"# + String(repeating: " ", count: 986)
        let packed = Gzip.compress(Array(text.utf8))
        #expect(try read(request("", encoding: "gzip", bytes: packed)) == "abc -1 -1.0 false -1")
        let bomb = Gzip.compress(Array((text + " ").utf8))
        #expect(throws: HTTPError.bodyTooLarge) {
            try read(request("", encoding: "gzip", bytes: bomb))
        }
        for broken in [Array(packed.dropLast()), packed + [0], [], [0x1F, 0x8B], Array("{}".utf8)] {
            let error = #expect(throws: HTTPError.self) {
                try read(request("", encoding: "gzip", bytes: broken))
            }
            #expect(error?.status == 400)
        }
        let unknown = #expect(throws: HTTPError.self) { try read(request("{}", encoding: "br")) }
        #expect(unknown?.status == 415)
    }

    @Test func `writes JSON that reads back`() throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("text", "a\"\\\n\u{1}é")
        writer.member("none", String?.none)
        writer.key("numbers")
        writer.beginArray()
        writer.value(1)
        writer.value(-0.5)
        writer.value(Double.nan)
        writer.beginObject()
        writer.endObject()
        writer.endArray()
        writer.member("flag", true)
        writer.endObject()
        let expected =
            #"{"text":"a\"\\\n\u0001é","none":null,"numbers":[1,-0.5,null,{}],"flag":true}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
        _ = try JSONValue(parsing: writer.bytes)
    }
}
