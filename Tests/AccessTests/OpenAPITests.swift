import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operations
@testable import Web

/// `docs/reference/openapi.yaml` says what the services do: every endpoint and nothing else, who may
/// call it, and with which codes it refuses.
@Suite(.timeLimit(.minutes(3))) struct OpenAPITests {
    private let document: OpenAPIDocument

    init() throws { document = try OpenAPIDocument() }

    /// A service that is not built yet is described ahead of its endpoints.
    private static let built = Set(Fleet.definitions.filter(\.isBuilt).map(\.name))
    /// Sentences that never are the code of a whole answer.
    private static let withinAnswers = ["timestamp.old": "a rejected report of a batch"]

    // MARK: - Endpoints

    @Test func `describes every endpoint of every service and nothing else`() async throws {
        var declared: Set<String> = []
        try await TestFleet().eachService { service, endpoints, _ in
            for endpoint in endpoints {
                declared.insert(
                    Self.line(
                        endpoint.method.rawValue,
                        endpoint.pattern,
                        Self.roles(endpoint.access),
                        service.name
                    )
                )
            }
        }
        let described = document.operations.filter { Self.built.contains($0.service) }.map {
            Self.line($0.method, $0.path, $0.roles, $0.service)
        }
        #expect(declared.subtracting(described).sorted() == [], "not described")
        #expect(Set(described).subtracting(declared).sorted() == [], "not there")
        #expect(described.count > 60)
    }

    private static func line(
        _ method: String,
        _ path: String,
        _ roles: [String],
        _ service: String
    ) -> String {
        "\(method) \(path) for \(roles.sorted().joined(separator: ", ")) by \(service)"
    }

    private static func roles(_ access: Access) -> [String] {
        switch access {
        case .anyone, .apiKey: []
        case .roles(let roles): roles.map(\.rawValue)
        }
    }

    @Test func `names every challenge of a 401`() {
        #expect(document.challenges.sorted() == Challenge.allCases.map(\.text).sorted())
    }

    // MARK: - Codes

    /// What `docs/reference/error-codes.md` says, which another test holds against the sources.
    private struct Reference {
        /// Services by code; `every service` for what the shared parts answer.
        var services: [String: Set<String>] = [:]
        var statuses: [String: String] = [:]

        init() throws {
            let file = ProjectPaths.root + "/docs/reference/error-codes.md"
            for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                    .map { $0.trimmingCharacters(in: .whitespaces) }
                guard cells.count > 5, cells[1].hasPrefix("`") else { continue }
                let code = cells[1].trimmingCharacters(in: ["`"])
                services[code, default: []].insert(cells[cells.count - 2])
                if !cells[2].isEmpty { statuses[code] = cells[2] }
            }
        }
    }

    @Test func `every code of an operation is one of its service, with its status`() throws {
        let reference = try Reference()
        for operation in document.operations where Self.built.contains(operation.service) {
            let name = "\(operation.method) \(operation.path)"
            for (status, codes) in operation.codes {
                #expect(operation.statuses.contains(status), "\(name): \(status)")
                for code in codes {
                    guard let services = reference.services[code] else {
                        let isMade = try isMade(code, by: operation.service)
                        #expect(isMade, "\(name): \(code)")
                        continue
                    }
                    #expect(
                        services.contains(operation.service) || services.contains("every service"),
                        "\(name): \(code) is not of \(operation.service)"
                    )
                    if let known = reference.statuses[code] {
                        #expect(known == status, "\(name): \(code)")
                    }
                }
            }
        }
    }

    @Test func `every code that a service can answer is one of its operations'`() throws {
        var described: [String: Set<String>] = [:]
        for operation in document.operations {
            described[operation.service, default: []].formUnion(operation.codes.values.joined())
        }
        let all = described.values.reduce(Set(document.generalCodes)) { $0.union($1) }
        for (code, services) in try Reference().services where Self.withinAnswers[code] == nil {
            for service in services {
                let known = service == "every service" ? all : described[service] ?? []
                #expect(known.contains(code), "\(code) of \(service)")
            }
        }
        let gateway = try String(
            contentsOfFile: ProjectPaths.root + "/tools/alongside/Sources/Gateway/Gateway.swift",
            encoding: .utf8
        )
        let reference = try Reference()
        for code in document.generalCodes where reference.services[code] == nil {
            #expect(gateway.contains("\"\(code)\""), "\(code) is nobody's")
        }
    }

    /// Whether a service's sources make a code, as a whole or from a name and an ending.
    private func isMade(_ code: String, by service: String) throws -> Bool {
        let ending = code.split(separator: ".").last.map(String.init) ?? ""
        let text = try Self.sources(of: service)
        return text.contains("\"\(code)\"") || text.contains(").\(ending)\"")
            || text.contains(")_full\"") && ending.hasSuffix("_full")
    }

    private static func sources(of service: String) throws -> String {
        let root = ProjectPaths.root + "/services/\(service)/Sources"
        let names = FileManager.default.enumerator(atPath: root)
        var text = ""
        while let name = names?.nextObject() as? String {
            guard name.hasSuffix(".swift") else { continue }
            text += try String(contentsOfFile: root + "/" + name, encoding: .utf8)
        }
        return text
    }
}
