import Foundation
import TestKit
import Testing

/// `docs/reference/error-codes.md` lists every `code` that an answer can carry, read from the sources;
/// written anew under `WRITE_REFERENCE=1`.
@Suite struct ErrorCodeReferenceTests {
    private static let file = ProjectPaths.root + "/docs/reference/error-codes.md"

    @Test func `the reference document says what the code does`() throws {
        let document = try Self.document()
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] == "1" {
            try Data(document.utf8).write(to: URL(fileURLWithPath: Self.file))
        }
        let written = FileManager.default.contents(atPath: Self.file) ?? Data()
        #expect(String(decoding: written, as: UTF8.self) == document)
    }

    @Test func `one code has one status`() throws {
        var statuses: [String: Set<String>] = [:]
        for error in try Self.errors() where !error.status.isEmpty {
            statuses[error.code, default: []].insert(error.status)
        }
        for (code, found) in statuses { #expect(found.count == 1, "\(code): \(found.sorted())") }
    }

    @Test func `finds code, status and sentence in a call`() {
        let source = """
            throw HTTPError(
                status: 429,
                code: "rate.rides",
                message: "too many ride changes, " + "slow down (\\(count))"
            )
            throw .badRequest("name is required", code: "name.required")
            throw .unprocessable("the house is full", code: "house.full")
            """
        #expect(
            SourceErrors(source, service: "x").all == [
                SourceErrors.Entry(
                    code: "rate.rides",
                    status: "429",
                    sentence: "too many ride changes, slow down (…)",
                    service: "x"
                ),
                SourceErrors.Entry(
                    code: "name.required",
                    status: "400",
                    sentence: "name is required",
                    service: "x"
                ),
                SourceErrors.Entry(
                    code: "house.full",
                    status: "422",
                    sentence: "the house is full",
                    service: "x"
                ),
            ]
        )
    }

    private static func document() throws -> String {
        var text = """
            # Error codes

            Made from the sources; do not edit by hand. Every error body is `{"error":"<sentence>","code":"<code>"}`; programs
            read the code, people the sentence. `…` stands for what differs from answer to answer.

            | Code | Status | Sentence | Where |
            | --- | --- | --- | --- |

            """
        for error in Set(try errors()).sorted(by: { $0.row < $1.row }) { text += error.row + "\n" }
        return text
    }

    private static func errors() throws -> [SourceErrors.Entry] {
        var errors: [SourceErrors.Entry] = []
        for folder in ["services", "shared/web", "shared/service-kit"] {
            let root = ProjectPaths.root + "/" + folder
            let names = FileManager.default.enumerator(atPath: root)
            while let name = names?.nextObject() as? String {
                guard name.hasSuffix(".swift") else { continue }
                let source = try String(contentsOfFile: root + "/" + name, encoding: .utf8)
                let service =
                    folder == "services" ? String(name.prefix { $0 != "/" }) : "every service"
                errors += SourceErrors(source, service: service).all
            }
        }
        return errors
    }
}
