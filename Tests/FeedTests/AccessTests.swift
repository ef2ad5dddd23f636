import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import FeedService
@testable import Operations

/// Who may call what, walked over every endpoint of the feed.
@Suite(.timeLimit(.minutes(2))) struct AccessTests {
    private func path(_ endpoint: Endpoint) -> String {
        endpoint.pattern.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("{") ? "x" : String($0) }.joined(separator: "/")
    }

    @Test func `every endpoint admits its roles and nobody else`() async throws {
        try await withDrivers { world async throws in
            let endpoints = world.first.intake.endpoints
            #expect(endpoints.count > 20)
            for endpoint in endpoints {
                guard case .roles(let roles) = endpoint.access else {
                    Issue.record("\(endpoint.pattern) is open")
                    continue
                }
                let isAdmins = endpoint.pattern.hasPrefix("/api/v1/admin/")
                #expect(roles == (isAdmins ? [.admin] : [.driver, .admin]), "\(endpoint.pattern)")
                for caller in [DriverWorld.Caller.nobody, .token("x"), .apiKey("x")] {
                    let answer = try await world.send(endpoint.method, path(endpoint), as: caller)
                    #expect(answer.status == 401, "\(endpoint.pattern)")
                }
                for role in Role.allCases {
                    let answer = try await world.send(
                        endpoint.method,
                        path(endpoint),
                        as: .role(role)
                    )
                    #expect((answer.status == 403) == !roles.contains(role), "\(endpoint.pattern)")
                    if isAdmins, role == .driver {
                        #expect(answer.refusal == "admin access required")
                    }
                }
            }
        }
    }

    @Test func `the gateway sends every path of the feed to the feed`() async throws {
        let routes = try RouteTable(file: ProjectPaths.root + "/deploy/routes.json")
        try await withDrivers { world async throws in
            let feed = FeedEndpoints(publisher: world.first.publisher).all
            for endpoint in feed + world.first.intake.endpoints {
                #expect(routes.service(for: path(endpoint)) == "feed", "\(endpoint.pattern)")
            }
        }
        #expect(routes.service(for: "/api/v1/admin/users/7") == "auth")
        #expect(routes.service(for: "/api/v1/admin/users/7/vehiclesque") == "auth")
        #expect(routes.service(for: "/api/v1/admin/users/a/b/vehicles") == "auth")
        #expect(routes.service(for: "/api/v1/admin/users//vehicles") == "auth")
    }
}
