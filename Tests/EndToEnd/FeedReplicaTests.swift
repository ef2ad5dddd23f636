import Database
import Foundation
import RealtimeFeed
import TestKit
import Testing
import Transit
import Web

extension EndToEnd.Rides {
    /// Two feeds under `up`: one builds, both serve, and losing the one that builds goes unnoticed.
    @Suite(.timeLimit(.minutes(5))) struct FeedReplicaTests {
        @Test func `another feed takes over and no reader sees the header go back`() async throws {
            let product = try await Product.ready(environment: ["FEEDS": "2"])
            let database = try product.database()
            try await eventually("both serve the same bytes", within: .seconds(20)) {
                let answers = try await everywhere(product)
                return answers.count == 2 && answers.allSatisfy { $0.status == 200 }
                    && answers[0].body == answers[1].body
                    && answers[0].headers.first("ETag") == answers[1].headers.first("ETag")
            }
            var newest: UInt64 = 0
            // The last one starts anew while one that built before is there.
            for signal in [SIGKILL, SIGSTOP, SIGKILL] {
                var found: Int32?
                try await eventually("a feed builds", within: .seconds(20)) {
                    found = try await builder(database)
                    return found != nil
                }
                let before = try #require(found)
                kill(before, signal)
                let start = ContinuousClock.now
                var taken: Duration?
                var takenAt: UInt64?
                // An unchanged feed is dated anew by its new builder in some twenty seconds.
                try await eventually("dated by the new builder", within: .seconds(40)) {
                    if let time = try? await header(product) {
                        #expect(time >= newest)
                        newest = max(newest, time)
                    }
                    if taken == nil, let now = try await builder(database), now != before {
                        taken = ContinuousClock.now - start
                        takenAt = newest
                    }
                    return takenAt.map { newest > $0 } ?? false
                }
                if signal == SIGSTOP { kill(before, SIGCONT) }
                // Five seconds, and what a loaded machine takes to look.
                #expect(try #require(taken) < .seconds(8), "after signal \(signal)")
                try await eventually("dated again", within: .seconds(40)) {
                    // Who has just woken up answers 503 until it has caught up.
                    guard let time = try? await header(product) else { return false }
                    #expect(time >= newest)
                    defer { newest = max(newest, time) }
                    return time > newest
                }
            }
            await database.close()
            try await product.remove()
        }

        private func header(_ product: Product) async throws -> UInt64 {
            let answer = try await product.client.get(
                product.url + "/gtfs-rt/vehicle-positions",
                limits: HTTPClientLimits(time: .seconds(1))
            )
            guard answer.status == 200 else { throw ProductFailure("\(answer.status)") }
            return try FeedMessage(decoding: answer.body).header.timestamp ?? 0
        }

        /// The process behind the session that holds the builder's lock.
        private func builder(_ database: Database) async throws -> Int32? {
            try await database.withConnection { connection throws(DatabaseError) in
                guard let session = try AdvisoryLock.holders(of: .feedBuilder, on: connection)[0]
                else { return nil }
                let rows = try connection.query(
                    """
                    SELECT i.pid FROM feed.builders b JOIN bus.instances i USING (instance)
                    WHERE b.backend_pid = $1
                    """,
                    [.int(Int(session))]
                )
                for row in rows { return Int32(try row.int(0)) }
                return nil
            }
        }

        /// The positions of each feed, asked past the gateway.
        private func everywhere(_ product: Product) async throws -> [HTTPClientResponse] {
            let folder = product.folder + "/logs"
            var answers: [HTTPClientResponse] = []
            for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            where name.hasPrefix("feed") {
                let log = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
                let lines = log.split(separator: "\n").filter {
                    $0.contains("\"server.name\":\"http\"")
                }
                guard let line = lines.last,
                    let text = line.components(separatedBy: "\"server.port\":").last,
                    let port = Int(text.prefix { $0.isNumber })
                else { continue }
                let url = "http://127.0.0.1:\(port)/gtfs-rt/vehicle-positions"
                answers.append(try await product.client.get(url))
            }
            return answers
        }
    }
}
