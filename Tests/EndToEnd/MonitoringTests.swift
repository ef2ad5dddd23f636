import Foundation
import TestKit
import Testing
import Web

extension EndToEnd.Rides {
    /// The dashboard and the alerts that operators get, over the running product.
    @Suite(.timeLimit(.minutes(4))) struct MonitoringTests {
        @Test
        func
            `every query of the dashboard has something to show, and alerts fire when they should`()
            async throws
        {
            let agency = AgencyStub()
            let agencyURL = try agency.start()
            let product = try await Product.ready(environment: [
                "TRUSTED_GTFS_RT_URLS": agencyURL, "TRUSTED_FEED_POLL": "1s",
                "PASSWORD_HASH_MEMORY_KIB": "262144", "LOGIN_ADDRESS_LIMIT": "100000",
                "LOGIN_IDENTITY_LIMIT": "100000",
            ])
            let monitoring = try await Monitoring(product)
            try await eventually("Prometheus is up", within: .seconds(20)) { await monitoring.isUp }
            let rider = try await TestRider(product)
            let now = TestRider.now
            _ = try await rider.report((0..<6).map { now - 30 + 5 * Int64($0) })

            var silent: [String] = []
            let queries = try Self.queries()
            try await eventually("every query has a series: \(silent)", within: .seconds(40)) {
                silent = []
                for query in queries where try await monitoring.series(query) == 0 {
                    silent.append(query)
                }
                return silent.isEmpty
            }
            #expect(queries.count > 20)
            let selectors = try Monitoring.alertSelectors()
            #expect(selectors.count >= 13)
            for selector in selectors {
                #expect(try await monitoring.series(selector) > 0, "\(selector)")
            }
            #expect(try await monitoring.firing.subtracting(["ErrorsAnswered"]) == [])

            agency.stop()
            try await fires("AgencyFeedStale", monitoring)
            // More log-ins at once than the queue before the hashes takes.
            let crowd = Task { await Self.crowd(product) }
            try await fires("QueueFull", monitoring)
            crowd.cancel()
            await crowd.value
            let verifier = try #require(product.child("verifier"))
            kill(verifier, SIGSTOP)
            try await fires("SlotsWithoutOwner", monitoring)
            kill(verifier, SIGCONT)
            let feed = try #require(product.child("feed"))
            kill(feed, SIGSTOP)
            try await fires("FeedNotBuilt", monitoring)
            #expect(try await monitoring.firing.contains("ServiceDown"))
            kill(feed, SIGCONT)
            monitoring.remove()
            try await product.remove()
        }

        private func fires(_ alert: String, _ monitoring: Monitoring) async throws {
            try await eventually("\(alert) fires", within: .seconds(40)) {
                try await monitoring.firing.contains(alert)
            }
        }

        /// The queries of all panels.
        private static func queries() throws -> [String] {
            struct Dashboard: Decodable {
                struct Target: Decodable { let expr: String }
                struct Panel: Decodable { let targets: [Target]? }
                let panels: [Panel]
            }
            let file = ProjectPaths.root + "/deploy/grafana/dashboards/alongside.json"
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            return try JSONDecoder().decode(Dashboard.self, from: data).panels
                .flatMap { ($0.targets ?? []).map { $0.expr.replacing("[5m]", with: "[10s]") } }
        }

        private static func crowd(_ product: Product) async {
            let body = #"{"email":"admin@localhost","password":"not it"}"#
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        while !Task.isCancelled {
                            _ = try? await product.post("/api/v1/auth/login", body)
                        }
                    }
                }
            }
        }
    }
}

/// An agency that answers with an empty feed until it stops answering.
private final class AgencyStub: @unchecked Sendable {
    // Sendable: started once before it is shared.
    private var server: HTTPServer?

    func start() throws -> String {
        // A FeedMessage with nothing but a header of version 2.0.
        let feed: [UInt8] = [0x0A, 0x05, 0x0A, 0x03, 0x32, 0x2E, 0x30]
        let server = try HTTPServer(
            endpoints: [
                Endpoint(.get, "/positions", access: .anyone) { _ in
                    HTTPResponse(
                        headers: [("Content-Type", "application/x-protobuf")],
                        body: .bytes(feed)
                    )
                }
            ],
            configuration: HTTPServerConfiguration()
        )
        self.server = server
        return "http://127.0.0.1:\(try server.start())/positions"
    }

    func stop() {
        let server = server
        self.server = nil
        Task { await server?.shutdown(within: .zero) }
    }
}
