import FoundationEssentials
import TestKit
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(1)))
struct ContentTests {
    private let content = ConditionalContent(
        Array(String(repeating: "feed ", count: 1000).utf8),
        contentType: "application/x-protobuf",
        entityTag: "v1",
        lastModified: 784_111_777
    )

    private func request(_ headers: [(String, String)]) -> HTTPRequest {
        HTTPRequest(headers: HTTPHeaders(headers))
    }

    @Test(arguments: [
        ([], 200), ([("If-None-Match", #""v1""#)], 304), ([("If-None-Match", #"W/"v1""#)], 304),
        ([("If-None-Match", #""v0", "v1""#)], 304), ([("If-None-Match", "*")], 304),
        ([("If-None-Match", #""v0""#)], 200), ([("If-None-Match", "v1")], 200),
        ([("If-None-Match", #""v1-gzip""#)], 200),
        ([("If-None-Match", #""v1-gzip""#), ("Accept-Encoding", "gzip")], 304),
        ([("If-None-Match", #""v1""#), ("Accept-Encoding", "gzip")], 200),
        ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 304),
        ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], 200),
        ([("If-Modified-Since", "yesterday")], 200),
        (
            [("If-None-Match", #""v0""#), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")],
            200
        ),
    ])
    func `answers 304 to who has it`(headers: [(String, String)], status: Int) {
        #expect(content.response(to: request(headers)).status == status)
    }

    @Test(arguments: [
        ("gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("gzip;q=0", false), ("br", false),
        ("gzip; q=0.0", false), ("", false), ("x-gzip-like", false),
    ])
    func `gzips where asked`(accepted: String, isGzipped: Bool) throws {
        let asking = request([("Accept-Encoding", accepted)])
        let answer = content.response(to: asking)
        #expect((answer.header("Content-Encoding") == "gzip") == isGzipped)
        #expect(answer.header("Vary") == "Accept-Encoding")
        let made = HTTPResponse.text(String(repeating: "a", count: 1024)).compressed(for: asking)
        #expect((made.header("Content-Encoding") == "gzip") == isGzipped)
        if isGzipped { #expect(try Gzip.inflate(made.body.bytes, limit: 1024).count == 1024) }
        let small = HTTPResponse.text(String(repeating: "a", count: 1023)).compressed(for: asking)
        #expect(small.header("Content-Encoding") == nil)
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func `writes and reads dates`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(seconds) == text)
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test func `sends prebuilt content over the wire many times`() async throws {
        let endpoint = Endpoint(
            .get,
            "/feed",
            access: .anyone,
            inline: { [content] in content.response(to: $0) }
        )
        try await withServer([endpoint]) { port, _ in
            let socket = try await RawSocket(port: port)
            for _ in 0..<10 {
                try await socket.send(get("/feed"))
                #expect(try await socket.response().body.utf8.count == 5000)
                try await socket.send(
                    "GET /feed HTTP/1.1\r\nHost: t\r\nIf-None-Match: \"v1\"\r\n\r\n"
                )
                let answer = try await socket.response(hasBody: false)
                #expect(answer.status == 304)
                #expect(answer.headers.first("ETag") == #""v1""#)
                #expect(answer.headers.first("Last-Modified") == "Sun, 06 Nov 1994 08:49:37 GMT")
            }
        }
    }

    @Test func `serves the files of a folder and nothing else`() async throws {
        let manager = FileManager.default
        let root = "/tmp/alongside-static-\(UInt64.random(in: 0...UInt64.max))"
        try manager.createDirectory(atPath: root + "/site/js", withIntermediateDirectories: true)
        defer { try? manager.removeItem(atPath: root) }
        for (path, text) in [
            ("site/index.html", "<p>"), ("site/js/a b.js", "1"), ("site/.hidden", "2"),
            ("secret.txt", "3"),
        ] {
            #expect(manager.createFile(atPath: "\(root)/\(path)", contents: Data(text.utf8)))
        }
        let files = try StaticFiles(folder: root + "/site")
        try await withServer([files.endpoint(at: "/console", access: .anyone)]) { port, _ in
            for path in ["/console/", "/console", "/console/index.html"] {
                let page = try await fetch(port, get(path))
                #expect(page.body == "<p>")
                #expect(page.headers.first("Content-Type") == "text/html; charset=utf-8")
            }
            let script = try await fetch(port, get("/console/js/a%20b.js"))
            #expect(script.body == "1")
            for path in [
                "/console/.hidden", "/console/../secret.txt", "/console/%2e%2e/secret.txt",
                "/console/..%2fsecret.txt", "/console/js", "/console//index.html",
                "/console/js%2Fa%20b.js",
            ] {
                #expect(try await fetch(port, get(path)).status == 404, "\(path)")
            }
        }
        #expect(throws: StaticFiles.Failure.self) { try StaticFiles(folder: root + "/none") }
    }
}
