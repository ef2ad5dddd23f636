import Foundation
import TestKit
import Testing
import Transit
import Web

extension EndToEnd.People {
    /// A rider is forgotten by every service of a running fleet (architecture, section 8).
    ///
    /// What is searched is what we store: every row of every table, and every file of the data folder
    /// but PostgreSQL's own. Its files keep deleted rows until they are vacuumed and its log of
    /// changes until it is recycled; neither can be read through the database.
    @Suite(.timeLimit(.minutes(3))) struct ErasureTests {
        @Test(arguments: ["1", "2"])
        func `after the answer no table and no file holds the rider`(
            verifiers: String
        ) async throws {
            let product = try await Product.ready(environment: ["VERIFIERS": verifiers])
            let now = TestRider.now
            let gone = try await TestRider(product)
            let stays = try await TestRider(product)
            for rider in [gone, stays] {
                let report = try await rider.report((0..<6).map { now - 30 + 5 * Int64($0) })
                #expect(report.status == 200)
            }
            // An earlier ride too, so that one has ended and one is under way.
            _ = try await gone.end("arrived")
            let second = try await product.post(
                "/api/v1/rider/rides",
                #"{"trip_id":"\#(gone.trip.id.rawValue)"}"#,
                token: gone.token
            )
            let secondRide = try #require(
                try TestRider.object(second)["ride_id"] as? String,
                "\(String(decoding: second.body, as: UTF8.self))"
            )
            let ids = [gone.riderID, gone.installationID, gone.rideID, secondRide]

            let export = try await product.get("/api/v1/rider/me/export", token: gone.token)
            let exported = String(decoding: export.body, as: UTF8.self)
            #expect(export.status == 200)
            for id in ids { #expect(exported.contains(id.lowercased())) }
            let rides = try #require(try TestRider.object(export)["rides"] as? [[String: Any]])
            #expect(rides.compactMap { ($0["points"] as? [Any])?.count }.sorted() == [0, 6])
            for id in ids { #expect(try await product.tables(holding: id) != [], "\(id)") }

            let answer = try await product.client.send(
                .delete,
                product.url + "/api/v1/rider/me",
                headers: [("Authorization", "Bearer \(gone.token)")]
            )
            #expect(answer.status == 204)
            for id in ids { #expect(try await product.tables(holding: id) == [], "\(id)") }
            for id in ids { #expect(try product.files(holding: id) == [], "\(id)") }
            try await eventually("refused everywhere", within: .seconds(5)) {
                try await gone.report([now]).status == 401
            }
            #expect(try await product.tables(holding: stays.riderID) != [])
            let other = try await stays.report([TestRider.now])
            #expect(other.status == 200 || other.status == 429)
            try await product.remove()
        }
    }
}
