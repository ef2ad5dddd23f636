import Database
import Foundation
import TestKit
import Testing
import Transit
import VehiclePositionsKit
import Web

extension EndToEnd.Rides {
    @Suite(.timeLimit(.minutes(5))) struct KillDrillTests {
        @Test func `every process is killed during a ride and no acknowledged point is missing`()
            async throws
        {
            let product = try await Product.ready()
            let rider = try await TestRider(product)
            // Beside it a ride through the kit, which has to come through on its own.
            let kit = try await KitRide(beside: rider)
            var acknowledged: [UnixSeconds] = []
            var next = TestRider.now - 60
            for name in ["auth", "rider-ingest", "verifier", "feed", "groups", "relay", "caddy"] {
                let before = try #require(product.child(name), "\(name) runs")
                // Killed while a report is under way.
                let start = next
                async let report = deliver(rider, from: start)
                kill(before, SIGKILL)
                acknowledged += try await report
                next = (acknowledged.last ?? next) + 1
                try await eventually("\(name) is started again", within: .seconds(10)) {
                    guard let after = product.child(name) else { return false }
                    return after != before
                }
                acknowledged += try await deliver(rider, from: next)
                next = (acknowledged.last ?? next) + 1
            }
            try await eventually("ready again", within: .seconds(20)) {
                try await product.get("/ready").status == 200
            }
            let summary = try TestRider.object(try await rider.end("arrived"))
            let points = try #require(summary["summary"] as? [String: Any])
            #expect(points["points"] as? Int == acknowledged.count)

            let stored = try await storedTimes(product, rider.rideID)
            #expect(stored == acknowledged)
            try await expectWhole(kit, product)
            try await product.remove()
        }

        @Test func `the database outlives a killed supervisor and the ride goes on`() async throws {
            let product = try await Product.ready()
            let rider = try await TestRider(product)
            let first = try await deliver(rider, from: TestRider.now - 40)
            let verifier = try #require(product.child("verifier"))
            try await product.stop(SIGKILL)
            try await eventually("services end with their supervisor", within: .seconds(15)) {
                kill(verifier, 0) != 0
            }
            let again = try await Product.ready(folder: product.folder)
            #expect(again.log.contains("adopted the private PostgreSQL"))
            let resumed = TestRider(rider, on: again)
            let second = try await deliver(resumed, from: (first.last ?? 0) + 1)
            let stored = try await storedTimes(again, rider.rideID)
            #expect(stored == first + second)
            try await again.remove()
        }

        @Test func `a killed database is started again and the ride goes on`() async throws {
            let product = try await Product.ready()
            let rider = try await TestRider(product)
            let first = try await deliver(rider, from: TestRider.now - 40)
            let file = try String(
                contentsOfFile: product.folder + "/postgres/postmaster.pid",
                encoding: .utf8
            )
            kill(try #require(file.split(separator: "\n").first.flatMap { Int32($0) }), SIGKILL)
            // A backend that is at work outlives its postmaster for a moment: this report may still be its own.
            let second = try await deliver(rider, from: (first.last ?? 0) + 1)
            try await eventually("PostgreSQL is started again", within: .seconds(30)) {
                product.log.contains("PostgreSQL had ended and was started again")
            }
            let third = try await deliver(rider, from: (second.last ?? 0) + 1)
            #expect(try await storedTimes(product, rider.rideID) == first + second + third)
            try await product.remove()
        }

        @Test func `a stop in order keeps the ride for the next start`() async throws {
            let product = try await Product.ready()
            let rider = try await TestRider(product)
            let first = try await deliver(rider, from: TestRider.now - 40)
            #expect(try await product.stop(SIGINT) == 0)
            #expect(
                !FileManager.default.fileExists(atPath: product.folder + "/postgres/postmaster.pid")
            )
            let again = try await Product.ready(folder: product.folder)
            let second = try await deliver(
                TestRider(rider, on: again),
                from: (first.last ?? 0) + 1
            )
            #expect(try await storedTimes(again, rider.rideID) == first + second)
            try await again.remove()
        }

        /// Every fix of the kit's ride is stored once, and the kit says how it went.
        private func expectWhole(_ kit: KitRide, _ product: Product) async throws {
            kit.stand()
            let rideID = try #require(kit.rideID)
            try await eventually("the kit has sent every fix", within: .seconds(60)) {
                try await storedTimes(product, rideID).count == kit.times.count
            }
            #expect(try await storedTimes(product, rideID) == kit.times)
            await kit.end()
            guard case .ended(.arrived, let summary) = kit.events.last else {
                Issue.record("\(kit.events)")
                return
            }
            #expect(summary?.points == kit.times.count)
        }

        /// Sends two fixes until they are acknowledged, as a phone does: again after any failure.
        private func deliver(
            _ rider: TestRider,
            from time: UnixSeconds
        ) async throws -> [UnixSeconds] {
            let times = [time, time + 1]
            try await eventually("acknowledged", within: .seconds(30)) {
                guard let answer = try? await rider.report(times) else { return false }
                guard answer.status == 200 else {
                    let text = String(decoding: answer.body, as: UTF8.self)
                    #expect([429, 502, 503].contains(answer.status), "\(answer.status) \(text)")
                    return false
                }
                let body = try TestRider.object(answer)
                #expect(body["accepted"] as? Int == 2)
                #expect(body["ended"] as? Bool == false, "\(body)")
                return true
            }
            return times
        }

        private func storedTimes(_ product: Product, _ rideID: String) async throws -> [UnixSeconds]
        {
            let id = try #require(UniqueID(rideID))
            let database = try product.database()
            let times = try await database.withConnection { connection throws(DatabaseError) in
                var times: [UnixSeconds] = []
                let rows = try connection.query(
                    """
                    SELECT timestamp FROM verifier.ride_points WHERE ride_id = $1
                    ORDER BY timestamp
                    """,
                    [.uuid(id)]
                )
                for row in rows { times.append(try row.timestamp(0)) }
                return times
            }
            await database.close()
            return times
        }
    }
}

extension TestRider {
    /// The same ride on a product that was started anew.
    init(_ rider: TestRider, on product: Product) {
        self.product = product
        token = rider.token
        riderID = rider.riderID
        installationID = rider.installationID
        rideID = rider.rideID
        trip = rider.trip
        startOfService = rider.startOfService
    }
}
