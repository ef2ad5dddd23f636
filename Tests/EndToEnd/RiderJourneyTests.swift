import Foundation
import RealtimeFeed
import TestKit
import Testing
import Transit
import Web

extension EndToEnd.Rides {
    @Suite(.timeLimit(.minutes(3))) struct RiderJourneyTests {
        /// How the services talk to each other.
        enum Wire: String, CaseIterable, CustomTestStringConvertible {
            case ipc
            case tcp

            var testDescription: String { self == .ipc ? "ipc" : "tcp with CURVE" }

            var environment: [String: String] {
                self == .ipc ? [:] : ["BUS_URL_PREFIX": "tcp://127.0.0.1:"]
            }
        }

        @Test(arguments: Wire.allCases)
        func `two riders who agree are published, one who leaves the route is rejected`(
            wire: Wire
        ) async throws {
            let product = try await Product.ready(environment: wire.environment)
            let now = TestRider.now
            // Old enough that the estimate's age can be waited out, gone at 90 s; young enough to be
            // seen before on a busy machine.
            let age: Int64 = 75
            let old = (0..<6).map { now - age - 5 * Int64(5 - $0) }
            let first = try await TestRider(product)
            let second = try await TestRider(product, beside: first)
            for rider in [first, second] {
                let answer = try TestRider.object(try await rider.report(old))
                #expect(answer["state"] as? String == "verified")
                #expect(answer["accepted"] as? Int == 6)
                #expect(answer["published"] as? Bool == false)
                #expect(answer["corroboration"] as? String == "unavailable")
            }

            try await eventually("published", within: .seconds(12)) {
                try await !entities(product).isEmpty
            }
            let entity = try #require(try await entities(product).first)
            let date = try #require(entity.vehicle?.trip?.startDate)
            #expect(entity.id == "rider:\(first.trip.id):\(date)")
            #expect(entity.vehicle?.vehicle?.id == VehicleID(entity.id))
            #expect(entity.vehicle?.vehicle?.label == "Rider-reported")
            #expect(entity.vehicle?.trip?.routeID == first.trip.routeID)
            #expect(entity.vehicle?.timestamp == UInt64(now - age))
            #expect(entity.vehicle?.currentStatus == .inTransitTo)

            let status = try await product.get(
                "/api/v1/rider/trips/\(first.trip.id)/status",
                token: first.token
            )
            let trip = try TestRider.object(status)
            #expect(trip["riders"] as? Int == 2)
            #expect(trip["rider_reported"] as? Bool == true)
            #expect(trip["trusted"] as? Bool == false)

            let third = try await TestRider(product, beside: first)
            let away = (0..<6).map { now - 30 + 5 * Int64($0) }
            let rejected = try TestRider.object(try await third.report(away, offset: 0.2))
            #expect(rejected["ended"] as? Bool == true)
            #expect(rejected["end_reason"] as? String == "off_route")
            let late = try await third.report([now])
            #expect(late.status == 409)
            #expect(try TestRider.object(late)["end_reason"] as? String == "off_route")

            try await eventually("gone 90 s after the last fix", within: .seconds(35)) {
                try await entities(product).isEmpty
            }
            #expect(TestRider.now >= now - age + 90)

            let summary = try TestRider.object(try await first.end("arrived"))
            let points = try #require(summary["summary"] as? [String: Any])
            #expect(points["points"] as? Int == 6)
            #expect(try await first.end("arrived").status == 409)
            try await product.remove()
        }

        @Test func `the simulator sees its riders leave the route and be rejected`() async throws {
            let product = try await Product.ready()
            let trip = try TestRider.runningTrip(product.schedule).0
            let simulator = Process()
            simulator.executableURL = URL(fileURLWithPath: Product.programs + "/ridersim")
            simulator.arguments = [
                "-url", product.url, "-gtfs", product.schedule, "-trip", trip.id.rawValue,
                "-interval", "1s",
                "-offroute-after", "4s", "--riders-per-trip", "2", "-expect-end", "off_route",
                "-follow-schedule",
            ]
            let output = Pipe()
            simulator.standardOutput = output
            simulator.standardError = output
            try simulator.run()
            let text = String(
                decoding: output.fileHandleForReading.readDataToEndOfFile(),
                as: UTF8.self
            )
            simulator.waitUntilExit()
            #expect(simulator.terminationStatus == 0, "\(text)")
            #expect(text.contains("off_route"))
            try await product.remove()
        }

        private func entities(_ product: Product) async throws -> [FeedEntity] {
            let response = try await product.get("/gtfs-rt/vehicle-positions")
            #expect(response.headers.first("Content-Type") == "application/x-protobuf")
            return try FeedMessage(decoding: response.body).entities
        }
    }
}
