import Foundation
import TestKit
import Testing

/// What an app maker's build of the kits needs: the manifest says so.
@Suite struct ManifestTests {
    private struct Manifest: Decodable {
        struct Named: Decodable {
            var name: String
            var path: String?
            var type: String
            var dependencies: [Dependency]
        }

        /// `{"byName": ["Transit", null]}` and its like.
        struct Dependency: Decodable {
            var names: [String]

            init(from decoder: any Decoder) throws {
                let kinds = try decoder.singleValueContainer().decode([String: [Part]].self)
                names = kinds.values.compactMap { $0.first?.text }
            }
        }

        struct Part: Decodable {
            var text: String?

            init(from decoder: any Decoder) throws {
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }

        struct Product: Decodable {
            var name: String
            var targets: [String]
        }

        var targets: [Named]
        var products: [Product]

        /// Everything that a target needs, itself too.
        func closure(of name: String) -> Set<String> {
            var found: Set<String> = []
            var waiting = [name]
            while let next = waiting.popLast() {
                guard found.insert(next).inserted else { continue }
                waiting += targets.first { $0.name == next }?.dependencies.flatMap(\.names) ?? []
            }
            return found
        }
    }

    private func manifest() throws -> Manifest {
        let scratch = FileManager.default.temporaryDirectory
            .appending(path: "manifest-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let package = Process()
        package.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        package.arguments = [
            "swift", "package", "--package-path", ProjectPaths.root, "--scratch-path", scratch,
            "dump-package",
        ]
        var environment = ProcessInfo.processInfo.environment
        environment["ALONGSIDE_WRAPPERS"] = nil
        package.environment = environment
        let output = Pipe()
        package.standardOutput = output
        package.standardError = FileHandle.nullDevice
        try package.run()
        let json = output.fileHandleForReading.readDataToEndOfFile()
        package.waitUntilExit()
        return try JSONDecoder().decode(Manifest.self, from: json)
    }

    @Test func `the kits need Foundation and nothing else`() throws {
        let manifest = try manifest()
        let kits = manifest.targets.filter { $0.path?.hasPrefix("clients/") == true }
        #expect(kits.contains { $0.name == "VehiclePositionsKit" })
        for kit in kits {
            let needed = manifest.closure(of: kit.name)
            let others = needed.filter { name in !kits.contains { $0.name == name } }
            #expect(others.isEmpty, "\(kit.name) needs \(others.sorted())")
        }
        for kit in ["VehiclePositionsKit", "CompanionKit"] {
            #expect(manifest.products.contains { $0.targets == [kit] })
        }
        // The reading of the manifest would notice: what links them finds them here.
        let service = manifest.closure(of: "VerifierService")
        #expect(service.isSuperset(of: ["CZeroMQ", "CLibPQ", "CProtobufC"]))
    }
}
