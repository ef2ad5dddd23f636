import Foundation
import ServiceKit
import TestKit
import Testing
import Web

@testable import Operations

/// What is written about endpoints: `docs/reference/access.md` and `deploy/routes.json`.
@Suite(.timeLimit(.minutes(3))) struct AccessReferenceTests {
    /// Routes that no endpoint uses yet, each with the reason.
    private static let unbuilt = [
        "/api/v1/admin/rider/": "ingest does not list rides yet"
    ]

    private struct Row: Hashable {
        let method: String
        let path: String
        let access: String
        let service: String
    }

    private func rows() async throws -> [Row] {
        var rows: [Row] = []
        try await TestFleet().eachService { service, endpoints, _ in
            rows += endpoints.map { endpoint in
                Row(
                    method: endpoint.method.rawValue,
                    path: endpoint.pattern,
                    access: Self.text(endpoint.access),
                    service: service.name
                )
            }
        }
        return rows.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    private static func text(_ access: Access) -> String {
        switch access {
        case .anyone: "anyone"
        case .apiKey: "holders of an API key"
        case .roles(let roles):
            Role.allCases.filter { roles.contains($0) }.map(\.rawValue).joined(separator: ", ")
        }
    }

    @Test func `the reference is what the services declare`() async throws {
        var text = """
            # Who may call what

            Generated from the services' endpoints by `WRITE_REFERENCE=1 swift test --filter AccessTests`; a test compares
            it, and another calls every line with every role, with no token and with bad ones.

            Without a token a line that names roles answers 401, with a token of another role 403. Staff (`driver`, `admin`)
            may send the cookie `vp_session` instead of the `Authorization` header where the line names nobody else. A 401 says
            in `WWW-Authenticate` what would be let in, with `error="invalid_token"` where a token was sent that is not.

            | Method | Path | Who may call | Service |
            | --- | --- | --- | --- |

            """
        for row in try await rows() {
            text += "| \(row.method) | `\(row.path)` | \(row.access) | \(row.service) |\n"
        }
        let file = ProjectPaths.root + "/docs/reference/access.md"
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] != nil {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }
        let written = try? String(contentsOfFile: file, encoding: .utf8)
        #expect(
            written == text,
            "rewrite it with WRITE_REFERENCE=1 swift test --filter AccessTests"
        )
    }

    @Test func `every path is routed to its service and every route leads somewhere`()
        async throws
    {
        let table = try RouteTable(file: ProjectPaths.root + "/deploy/routes.json")
        var used: Set<String> = []
        try await TestFleet().eachService { service, endpoints, _ in
            for endpoint in endpoints {
                let path = endpoint.examplePath
                #expect(
                    table.service(for: path) == service.name,
                    "\(service.name): \(endpoint.pattern)"
                )
                let single = table.routes.first {
                    RouteTable([$0]).service(for: path) != nil
                }
                if let single { used.insert(single.prefix) }
            }
        }
        for route in table.routes where Self.unbuilt[route.prefix] == nil {
            #expect(used.contains(route.prefix), "\(route.prefix) leads to no endpoint")
        }
    }
}
