import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operations

/// `docs/reference/settings.md` says what the programs read; written anew under `WRITE_REFERENCE=1`.
@Suite struct SettingsReferenceTests {
    private static let file = ProjectPaths.root + "/docs/reference/settings.md"

    @Test func `the reference document says what the code does`() throws {
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] == "1" {
            try Data(Self.document.utf8).write(to: URL(fileURLWithPath: Self.file))
        }
        let written = FileManager.default.contents(atPath: Self.file) ?? Data()
        #expect(String(decoding: written, as: UTF8.self) == Self.document)
    }

    @Test func `one name means one thing in every program`() {
        var documented: [String: Set<String>] = [:]
        for definition in Fleet.definitions {
            for declaration in definition.table.declarations
            where !["PORT", "HOST", "INTERNAL_PORT"].contains(declaration.key) {
                let facts =
                    "\(declaration.kind), \(declaration.fallbackText), \(declaration.allowed)"
                documented[declaration.key, default: []].insert(facts)
            }
        }
        for (key, facts) in documented { #expect(facts.count == 1, "\(key): \(facts.sorted())") }
    }

    /// bash takes no value for these, and hands none on that it was given.
    @Test func `no setting has a name that a shell keeps for itself`() {
        let kept: Set<String> = [
            "GROUPS", "UID", "EUID", "PPID", "DIRSTACK", "FUNCNAME", "PIPESTATUS", "RANDOM",
            "SECONDS", "LINENO", "SHELLOPTS", "BASHOPTS",
        ]
        let tables = Fleet.definitions.map(\.table) + [UpSettings.table]
        let keys = Set(tables.flatMap { $0.declarations.map(\.key) })
        #expect(keys.intersection(kept).isEmpty)
    }

    private static var document: String {
        var text = """
            # Settings

            Made from the declarations in the code; do not edit by hand. Settings are environment variables, an empty one counts as
            unset, and each that is no secret is also an option (`PORT=8080` is `--port 8080`). A secret can be given as a file:
            `<SETTING>_FILE`. `--print-configuration` prints what a program would run with.

            ## alongside up

            What it does not read itself it hands on to the services.

            \(UpSettings.table.reference())
            """
        for definition in Fleet.definitions {
            let table = definition.table.reference()
            text += "\n## \(definition.name)\n\n\(definition.summary)\n\n\(table)"
        }
        return text
    }
}
