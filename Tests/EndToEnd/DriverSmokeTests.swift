import Foundation
import RealtimeFeed
import TestKit
import Testing
import Transit
import Web

extension EndToEnd.People {
    /// A rider and a driver on one bus (the smoke loop of the rider mode's design, section 6).
    @Suite(.timeLimit(.minutes(3))) struct DriverSmokeTests {
        private static let staleness = 15

        @Test func `a driver corroborates a rider, and the rider takes over when the driver stops`()
            async throws
        {
            let product = try await Product.ready(
                environment: ["STALENESS_THRESHOLD": "\(Self.staleness)s"]
            )
            let driver = try await signInDriver(product)
            let rider = try await TestRider(product)
            let driving = Task {
                while !Task.isCancelled {
                    try await drive(rider, as: driver)
                    // One report in five seconds is what a driver may send.
                    try? await Task.sleep(for: .milliseconds(5200))
                }
            }
            let status = "/api/v1/rider/trips/\(rider.trip.id)/status"
            try await eventually("the trip is trusted", within: .seconds(20)) {
                let answer = try await product.get(status, token: rider.token)
                return try TestRider.object(answer)["trusted"] as? Bool == true
            }
            let now = TestRider.now
            let report = try await rider.report((0..<12).map { now - 60 + 5 * Int64($0) })
            let verdict = try TestRider.object(report)
            #expect(verdict["corroboration"] as? String == "corroborated")
            #expect(verdict["published"] as? Bool == true)
            // Two seconds on the rider has long reached the feed, which the bus's next report builds anew.
            try await eventually("the feed is built anew", within: .seconds(20)) {
                let feed = try await vehicles(product)
                #expect(feed.entities.map(\.id) == ["bus-7"])
                return Int64(feed.header.timestamp ?? 0) >= now + 2
            }

            driving.cancel()
            try await driving.value
            var seen: [String] = []
            try await eventually(
                "the rider is published; the feed has \(seen)",
                within: .seconds(Self.staleness + 10)
            ) {
                seen = try await ids(product)
                // Never both, and never neither for longer than a second.
                return seen.count == 1 && seen[0].hasPrefix("rider:\(rider.trip.id):")
            }
            let answer = try await product.get("/gtfs-rt/trip-updates")
            let updates = try FeedMessage(decoding: answer.body).entities
            #expect(updates.map(\.id) == seen)
            #expect(updates.first?.tripUpdate?.stopTimeUpdates.isEmpty == false)
            try await restartFeed(product, publishing: seen)
            try await product.remove()
        }

        /// Kills the only feed: whoever asks meanwhile gets no feed, and never one without its vehicles.
        private func restartFeed(_ product: Product, publishing ids: [String]) async throws {
            kill(try #require(product.child("feed")), SIGKILL)
            let start = ContinuousClock.now
            var backAt: Duration?
            try await eventually("the feed is back for two seconds", within: .seconds(20)) {
                let answer = try? await product.get("/gtfs-rt/vehicle-positions")
                guard let answer, answer.status == 200 else {
                    #expect(answer.map { [502, 503].contains($0.status) } ?? true)
                    return false
                }
                let found = try FeedMessage(decoding: answer.body).entities.map(\.id)
                #expect(found == ids)
                let now = ContinuousClock.now - start
                backAt = backAt ?? now
                return now - (backAt ?? now) > .seconds(2)
            }
        }

        private func ids(_ product: Product) async throws -> [String] {
            try await vehicles(product).entities.map(\.id)
        }

        private func vehicles(_ product: Product) async throws -> FeedMessage {
            let answer = try await product.get("/gtfs-rt/vehicle-positions")
            return try FeedMessage(decoding: answer.body)
        }

        private func drive(_ rider: TestRider, as token: String) async throws {
            let now = TestRider.now
            let place = rider.place(at: now)
            let answer = try await rider.product.post(
                "/api/v1/locations",
                """
                {"vehicle_id":"bus-7","trip_id":"\(rider.trip.id)","latitude":\(place.latitude),\
                "longitude":\(place.longitude),"timestamp":\(now)}
                """,
                token: token
            )
            #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
        }

        private func signInDriver(_ product: Product) async throws -> String {
            let file = product.folder + "/keys/admin-password"
            let password = try String(contentsOfFile: file, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let admin = try await logIn(product, "admin@localhost", password)
            let created = try await product.post(
                "/api/v1/admin/users",
                #"{"name":"Dora","email":"d@example.org","password":"password of Dora","role":"driver"}"#,
                token: admin
            )
            try #require(created.status == 201)
            return try await logIn(product, "d@example.org", "password of Dora")
        }

        private func logIn(
            _ product: Product,
            _ email: String,
            _ password: String
        ) async throws -> String {
            let answer = try await product.post(
                "/api/v1/auth/login",
                #"{"email":"\#(email)","password":"\#(password)"}"#
            )
            try #require(answer.status == 200)
            return try #require(TestRider.object(answer)["access_token"] as? String)
        }
    }
}
