import Database
import Foundation
import Testing
import Transit
import Web

extension EndToEnd {
    /// A rider is forgotten by every service of a running fleet (architecture, section 8).
    ///
    /// What is searched is what we store: every row of every table, and every file of the data folder
    /// but PostgreSQL's own. Its files keep deleted rows until they are vacuumed and its log of
    /// changes until it is recycled; neither can be read through the database.
    @Suite(.timeLimit(.minutes(3))) struct ErasureTests {
        @Test(arguments: ["1", "2"])
        func `after the answer no table and no file holds the rider`(verifiers: String) async throws {
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
            for id in ids { #expect(try await tables(product, holding: id) != [], "\(id)") }

            let answer = try await product.client.send(
                .delete,
                product.url + "/api/v1/rider/me",
                headers: [("Authorization", "Bearer \(gone.token)")]
            )
            #expect(answer.status == 204)
            for id in ids { #expect(try await tables(product, holding: id) == [], "\(id)") }
            for id in ids.prefix(2) { #expect(try files(product, holding: id) == [], "\(id)") }
            try await eventually("refused everywhere", within: .seconds(5)) {
                try await gone.report([now]).status == 401
            }
            #expect(try await tables(product, holding: stays.riderID) != [])
            let other = try await stays.report([TestRider.now])
            #expect(other.status == 200 || other.status == 429)
            try await product.remove()
        }

        /// The tables with a row in which an id stands, in its text form or as bytes.
        private func tables(_ product: Product, holding id: String) async throws -> [String] {
            let database = try product.database()
            let found = try await database.withConnection { connection throws(DatabaseError) in
                var found: [String] = []
                let tables = try connection.query(
                    """
                    SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
                    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
                        AND table_type = 'BASE TABLE'
                    """
                )
                let bytes = id.replacing("-", with: "").lowercased()
                for table in tables {
                    let name = try table.text(0)
                    let rows = try connection.query(
                        """
                        SELECT FROM \(name) t WHERE lower(t::text) LIKE '%' || $1 || '%'
                            OR lower(t::text) LIKE '%' || $2 || '%' LIMIT 1
                        """,
                        [.text(id.lowercased()), .text(bytes)]
                    )
                    if !rows.isEmpty { found.append(name) }
                }
                return found
            }
            await database.close()
            return found
        }

        /// The files of the data folder, and the log, in which an id stands.
        private func files(_ product: Product, holding id: String) throws -> [String] {
            let needle = Data(id.lowercased().utf8)
            var found: [String] = []
            let names = FileManager.default.enumerator(atPath: product.folder)
            while let name = names?.nextObject() as? String {
                if name == "postgres" {
                    names?.skipDescendants()
                    continue
                }
                let path = product.folder + "/" + name
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
                    !isFolder.boolValue, let bytes = FileManager.default.contents(atPath: path)
                else { continue }
                let text = String(decoding: bytes, as: UTF8.self).lowercased()
                if bytes.range(of: needle) != nil || text.contains(id.lowercased()) {
                    found.append(name)
                }
            }
            if product.log.lowercased().contains(id.lowercased()) { found.append("the log") }
            return found
        }
    }
}
