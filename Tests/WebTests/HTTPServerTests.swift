import Telemetry
import TestKit
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(1)))
struct HTTPServerTests {
    private let endpoints: [Endpoint] = [
        Endpoint(.get, "/ping", access: .anyone, inline: { _ in .text("pong") }),
        Endpoint(.get, "/trips/{id}", access: .anyone, inline: { .text($0.parameter("id")) }),
        Endpoint(.get, "/trips/live", access: .anyone, inline: { _ in .text("live list") }),
        Endpoint(
            .post,
            "/sum",
            access: .anyone,
            handler: { request in
                let body = try request.jsonObject()
                let left = try body.int("left") ?? 0
                let right = try body.int("right") ?? 0
                try body.finish()
                await Task.yield()
                return try .json(["sum": left + right])
            }
        ),
        Endpoint(
            .get,
            "/fails",
            access: .anyone,
            handler: { _ in throw BrokenHandler(secret: "password") }
        ),
        Endpoint(
            .post,
            "/refuses",
            access: .anyone,
            inline: { _ in
                throw HTTPError(
                    status: 409,
                    code: "ride.ended",
                    message: "ride ended",
                    details: [.init("end_reason", "arrived")]
                )
            }
        ),
    ]

    private struct BrokenHandler: Error {
        let secret: String
    }

    @Test func `answers an inline endpoint`() async throws {
        try await withServer(endpoints) { port, _ in
            let response = try await fetch(port, get("/ping"))
            #expect(response.status == 200)
            #expect(response.body == "pong")
        }
    }

    @Test func `answers many requests on one connection`() async throws {
        try await withServer(endpoints) { port, _ in
            let socket = try await RawSocket(port: port)
            for round in 0..<20 {
                try await socket.send(post("/sum", #"{"left":\#(round),"right":1}"#))
                #expect(try await socket.response().body == #"{"sum":\#(round + 1)}"#)
                try await socket.send(get("/ping"))
                #expect(try await socket.response().body == "pong")
            }
        }
    }

    @Test(arguments: [
        ("/trips/a%2Fb%20c", "a/b c"), ("/trips/live", "live list"), ("/trips/%6cive", "live list"),
        ("/trips/100%2525", "100%25"), ("/trips/a+b", "a+b"), ("/trips/%C3%A9?x=1", "é"),
        ("http://host/trips/7", "7"),
    ])
    func `splits the raw path and decodes each segment once`(
        path: String,
        body: String
    ) async throws {
        try await withServer(endpoints) { port, _ in
            let response = try await fetch(port, get(path))
            #expect(response.status == 200)
            #expect(response.body == body)
        }
    }

    @Test(arguments: [
        ("GET", "/nothing", 404), ("GET", "/trips/", 404), ("GET", "/trips", 404),
        ("POST", "/ping", 405), ("DELETE", "/trips/1", 405), ("BREW", "/ping", 405),
        ("GET", "/trips/%zz", 400), ("GET", "/trips/%00", 400), ("GET", "/trips/%ff", 400),
        ("GET", "/ping?a=%", 400),
    ])
    func `refuses paths and methods that it does not have`(
        method: String,
        path: String,
        status: Int
    ) async throws {
        try await withServer(endpoints) { port, _ in
            let request = "\(method) \(path) HTTP/1.1\r\nHost: t\r\n\r\n"
            let response = try await fetch(port, request)
            #expect(response.status == status)
            #expect(response.headers.first("Content-Type") == "application/json")
            #expect(response.body.hasPrefix(#"{"error":""#))
            #expect(response.headers.first("Cache-Control") == "no-store")
            if status == 405 { #expect(response.headers.first("Allow") == "GET, HEAD") }
        }
    }

    @Test func `answers HEAD as GET without the body`() async throws {
        try await withServer(endpoints) { port, _ in
            let socket = try await RawSocket(port: port)
            try await socket.send("HEAD /ping HTTP/1.1\r\nHost: t\r\n\r\n")
            let head = try await socket.response(hasBody: false)
            #expect(head.status == 200)
            #expect(head.headers.first("Content-Length") == "4")
            try await socket.send(get("/ping"))
            #expect(try await socket.response().body == "pong")
        }
    }

    @Test func `hides what a handler threw`() async throws {
        try await withServer(endpoints) { port, _ in
            let response = try await fetch(port, get("/fails"))
            #expect(response.status == 500)
            #expect(response.body == #"{"error":"internal server error","code":"internal"}"#)
        }
    }

    @Test func `answers a refusal with its code and details`() async throws {
        try await withServer(endpoints) { port, _ in
            let response = try await fetch(port, post("/refuses", "{}"))
            #expect(response.status == 409)
            let expected = #"{"error":"ride ended","code":"ride.ended","end_reason":"arrived"}"#
            #expect(response.body == expected)
        }
    }

    @Test func `says who holds the port`() async throws {
        try await withServer(endpoints) { port, _ in
            let configuration = HTTPServerConfiguration(port: port)
            let second = try HTTPServer(endpoints: [], configuration: configuration)
            #expect(throws: HTTPServerError.addressInUse("127.0.0.1:\(port)")) {
                try second.start()
            }
        }
    }

    @Test func `refuses two endpoints that answer the same`() {
        let twice = [
            Endpoint(.get, "/a/{x}", access: .anyone, inline: { _ in .empty() }),
            Endpoint(.get, "/a/{y}", access: .anyone, inline: { _ in .empty() }),
        ]
        #expect(throws: HTTPServerError.duplicateEndpoint("GET /a/{y}")) {
            try HTTPServer(endpoints: twice)
        }
    }
}
