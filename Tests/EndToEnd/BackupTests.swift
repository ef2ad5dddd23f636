import Foundation
import TestKit
import Testing
import Transit
import Web

extension EndToEnd.People {
    /// The rehearsal of `deploy/backup` and `deploy/restore`, as `alongside` runs them.
    @Suite(.timeLimit(.minutes(4))) struct BackupTests {
        @Test func `a restored backup serves the same data to the same tokens`() async throws {
            let old = try await Product.ready()
            let admin = try await Self.logIn(old, folder: old.folder)
            let rider = try await TestRider(old)
            let now = TestRider.now
            #expect(try await rider.report((0..<6).map { now - 30 + 5 * Int64($0) }).status == 200)
            _ = try await rider.end("arrived")
            #expect(
                try await old.post(
                    "/api/v1/locations",
                    """
                    {"vehicle_id":"bus-9","latitude":40.58,"longitude":-122.39,"timestamp":\(now)}
                    """,
                    token: admin
                ).status == 201
            )
            let member = try await Self.member(old)
            let circle = try await old.post("/api/circles", #"{"name":"Home"}"#, token: member)
            #expect(circle.status == 201)
            let gone = try await Self.member(old)
            let loggedOut = try await old.post("/api/v1/auth/logout", "{}", token: gone)
            #expect(loggedOut.status == 204)

            let looks: [(path: String, token: String)] = [
                ("/api/v1/admin/users", admin), ("/api/v1/admin/vehicles", admin),
                ("/api/v1/admin/vehicles/bus-9/locations", admin),
                ("/api/v1/admin/rider/rides?status=ended", admin),
                ("/api/v1/admin/rider/rides/\(rider.rideID)", admin),
                ("/api/circles", member), ("/api/me", member),
            ]
            let before = try await Self.answers(old, looks)
            let backup = old.folder + "-backup"
            // While it runs.
            let saved = try Self.run("backup", backup, on: old.folder)
            try #require(saved.status == 0, "\(saved.output)")
            let twice = try Self.run("backup", backup, on: old.folder)
            #expect(twice.status == 1)
            #expect(twice.output.contains("backup: \(backup) cannot be made, or is there already"))
            try await old.stop()

            // Another server, which has never seen our roles.
            let folder = try Product.newFolder()
            let mistyped = try Self.run("restore", backup + "x", on: folder)
            #expect(mistyped.status == 1)
            #expect(mistyped.output.contains("restore: \(backup)x is no backup"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/keys"), "nothing was made")
            let restored = try Self.run("restore", backup, on: folder)
            try #require(restored.status == 0, "\(restored.output)")
            let new = try await Product.ready(folder: folder)
            #expect(try await Self.answers(new, looks) == before)
            #expect(try await new.get("/api/me", token: gone).status == 401)
            let beside = try Self.run("restore", backup, on: folder)
            #expect(beside.status == 1, "\(beside.output)")
            #expect(beside.output.contains("is in use by another alongside up"))
            try await new.stop()
            let over = try Self.run("restore", backup, on: folder)
            #expect(over.status == 1, "\(over.output)")
            #expect(over.output.contains("\(folder)/keys is not empty"))
            try await new.remove()
            try await old.remove()
            try? FileManager.default.removeItem(atPath: backup)
        }

        private static func run(
            _ command: String,
            _ backup: String,
            on folder: String
        ) throws -> FinishedProgram {
            try FinishedProgram(
                [Product.programs + "/alongside", command, backup],
                environment: ["ALONGSIDE_DATA": folder, "ALONGSIDE_HOME": ProjectPaths.root]
            )
        }

        private static func answers(
            _ product: Product,
            _ looks: [(path: String, token: String)]
        ) async throws -> [String] {
            var answers: [String] = []
            for look in looks {
                let answer = try await product.get(look.path, token: look.token)
                #expect(answer.status == 200, "\(look.path)")
                answers.append("\(look.path) \(String(decoding: answer.body, as: UTF8.self))")
            }
            return answers
        }

        private static func logIn(_ product: Product, folder: String) async throws -> String {
            let password = try String(
                contentsOfFile: folder + "/keys/admin-password",
                encoding: .utf8
            )
            .trimmingCharacters(in: .whitespacesAndNewlines)
            let answer = try await product.post(
                "/api/v1/auth/login",
                #"{"email":"admin@localhost","password":"\#(password)"}"#
            )
            return try #require(try TestRider.object(answer)["access_token"] as? String)
        }

        private static func member(_ product: Product) async throws -> String {
            let handle = "m\(UInt32.random(in: 0 ... .max))"
            let answer = try await product.post(
                "/api/v1/auth/register",
                #"{"handle":"\#(handle)","password":"correct horse"}"#
            )
            return try #require(try TestRider.object(answer)["access_token"] as? String)
        }
    }
}
