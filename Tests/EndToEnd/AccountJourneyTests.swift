import Foundation
import TestKit
import Testing
import Web

@testable import Operations

extension EndToEnd.People {
    /// Accounts through the gateway, as a newcomer meets them.
    @Suite(.timeLimit(.minutes(3))) struct AccountJourneyTests {
        @Test func `the first admin lets a driver in, who is let out again`() async throws {
            let ports = try TestPort.free(2)
            let product = try await Product.ready(environment: [
                "SITE_ADDRESS": "localhost", "HTTP_PORT": String(ports[0]),
                "HTTPS_PORT": String(ports[1]),
            ])
            let file = product.folder + "/keys/admin-password"
            #expect(product.log.contains("admin@localhost, its first password is in \(file)"))
            let password = try String(contentsOfFile: file, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(!product.log.contains(password))

            let admin = try await logIn(product, "admin@localhost", password)
            try await openSession(as: "admin@localhost", password, behind: ports)
            let wanted = try text([
                "name": "Dora", "email": "dora@example.org", "password": "password of Dora",
                "role": "driver",
            ])
            let users = "/api/v1/admin/users"
            let created = try await product.post(users, wanted, token: admin)
            #expect(created.status == 201)
            let id = try #require(TestRider.object(created)["id"] as? String)

            let driver = try await logIn(product, "dora@example.org", "password of Dora")
            #expect(try await product.get("/api/me", token: driver).status == 200)
            #expect(try await product.get(users, token: driver).status == 403)
            try await drive(product, id, driver: driver, admin: admin)
            let export = try await product.get("/api/me/export", token: driver)
            #expect(export.status == 200)
            let feed = try #require(TestRider.object(export)["feed"] as? [String: Any])
            #expect(feed["name"] as? String == "Dora")
            #expect((feed["trips"] as? [Any])?.count == 1)
            #expect(((feed["reports"] as? [String: Any])?["rows"] as? [Any])?.count == 1)
            #expect(try TestRider.object(export)["groups"] is [String: Any])
            for name in ["feed.location_points", "feed.live_vehicles", "feed.driver_trips"] {
                #expect(try await product.tables(holding: id).contains(name))
            }
            let removed = try await product.client.send(
                .delete,
                "\(product.url)\(users)/\(id)",
                headers: [("Authorization", "Bearer \(admin)")]
            )
            #expect(removed.status == 204)
            // No table names the driver any more; where the bus was stays.
            for trace in [id, "dora"] { #expect(try await product.tables(holding: trace) == []) }
            let path = "/api/v1/admin/vehicles/bus-7/locations"
            let history = try TestRider.object(try await product.get(path, token: admin))
            #expect(history["count"] as? Int == 1)
            try await eventually("the driver is out", within: .seconds(5)) {
                try await product.get("/api/me", token: driver).status == 401
            }
            try await product.remove()
        }

        /// The gateway for the public: certificate and the way to it, and a cookie that stays behind TLS.
        private func openSession(
            as email: String,
            _ password: String,
            behind ports: [Int]
        ) async throws {
            func curl(_ url: String, _ more: String...) throws -> String {
                try FinishedProgram(["curl", "-4sk", "-m", "20", "-D", "-", url] + more).output
            }
            let base = "https://localhost:\(ports[1])"
            // The gateway listens before it has signed its certificate.
            try await eventually("a certificate", within: .seconds(20)) {
                try curl(base + "/api/health").contains("HTTP/2 200")
            }
            let credentials = try text(["email": email, "password": password])
            let opened = try curl(
                base + "/api/v1/auth/session",
                "-H",
                "Content-Type: application/json",
                "--data",
                credentials
            )
            #expect(opened.contains("HTTP/2 204"), "\(opened)")
            #expect(opened.contains("; Secure\r\n"), "\(opened)")
            // Who is ready is for this machine.
            #expect(try curl(base + "/ready").contains("HTTP/2 404"))
            let onward = try curl("http://localhost:\(ports[0])/feeds.json")
            #expect(onward.contains("308"), "\(onward)")
        }

        @Test
        func `an operator's commands find the product that runs, and a second one is refused`()
            async throws
        {
            let product = try await Product.ready()
            let (status, output) = try alongside(
                ["user", "add", "--role", "admin", "--email", "root@example.org"],
                input: "a password from a pipe\nand more",
                product
            )
            #expect(status == 0, "\(output)")
            #expect(output.hasPrefix("admin root@example.org added, id "))
            let root = try await logIn(product, "root@example.org", "a password from a pipe")
            let short = try alongside(
                ["user", "add", "--role", "admin", "--email", "other@example.org"],
                input: "1234567\n",
                product
            )
            #expect(short.status == 1)
            #expect(short.output == "alongside: password must be at least 8 characters\n")
            try await examine(product)
            try await revoke(root, on: product)
            try await startAgain(product)
            try await product.remove()
        }

        private func examine(_ product: Product) async throws {
            var said = ""
            // Partitions and shares come within seconds after a start.
            try await eventually("all is well: \(said)", within: .seconds(90)) {
                let (status, output) = try alongside(["doctor"], product)
                said = output
                return status == 0
            }
            #expect(said.hasPrefix("folder     \(product.folder)\n"))
        }

        private func revoke(_ token: String, on product: Product) async throws {
            struct Claims: Decodable { let jti: String }
            var payload = token.split(separator: ".")[1].replacing("-", with: "+")
                .replacing("_", with: "/")
            payload += String(repeating: "=", count: (4 - payload.count % 4) % 4)
            let claims = try #require(Data(base64Encoded: String(payload)))
            let id = try JSONDecoder().decode(Claims.self, from: claims).jti
            let (status, output) = try alongside(["revoke", "token", id], product)
            #expect(status == 0, "\(output)")
            try await eventually("the token is void", within: .seconds(10)) {
                try await product.get("/api/me", token: token).status == 401
            }
        }

        /// A second `up` of the same folder and port says who is there and harms nothing.
        private func startAgain(_ product: Product) async throws {
            let second = try Product(
                environment: ["PORT": String(product.port)],
                folder: product.folder
            )
            try await eventually("ended", within: .seconds(30)) { !second.isRunning }
            #expect(try await second.stop() == 1)
            #expect(
                second.log == """
                    alongside: \(product.folder) is in use by another alongside up \
                    (process \(product.processID), port \(product.port)); stop it, or set \
                    ALONGSIDE_DATA and PORT to others

                    """
            )
            try FileManager.default.removeItem(atPath: second.logPath)
            #expect(try await product.get("/ready").status == 200)
            #expect(product.isRunning)
        }

        /// Does everything of which the feed keeps something about a driver.
        private func drive(
            _ product: Product,
            _ id: String,
            driver: String,
            admin: String
        ) async throws {
            let now = TestRider.now
            for (path, body, token, status) in [
                ("admin/vehicles", #"{"id":"bus-7"}"#, admin, 200),
                ("admin/assignments", #"{"user_id":"\#(id)","vehicle_id":"bus-7"}"#, admin, 201),
                ("trips/start", #"{"vehicle_id":"bus-7"}"#, driver, 201),
                (
                    "locations",
                    #"{"vehicle_id":"bus-7","latitude":46,"longitude":14,"timestamp":\#(now)}"#,
                    driver, 201
                ),
            ] {
                let answer = try await product.post("/api/v1/" + path, body, token: token)
                #expect(answer.status == status, "\(path)")
            }
        }

        private func logIn(
            _ product: Product,
            _ email: String,
            _ password: String
        ) async throws -> String {
            let body = try text(["email": email, "password": password])
            let answer = try await product.post("/api/v1/auth/login", body)
            try #require(answer.status == 200, "\(email)")
            return try #require(TestRider.object(answer)["access_token"] as? String)
        }

        private func text(_ fields: [String: String]) throws -> String {
            String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
        }

        /// Runs `alongside` to its end.
        private func alongside(
            _ arguments: [String],
            input: String = "",
            _ product: Product
        ) throws -> (status: Int32, output: String) {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: Product.programs + "/alongside")
            process.arguments = arguments
            process.environment = ["ALONGSIDE_DATA": product.folder, "PATH": "/usr/bin:/bin"]
            let given = Pipe()
            let said = Pipe()
            process.standardInput = given
            process.standardOutput = said
            process.standardError = said
            try process.run()
            try given.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try given.fileHandleForWriting.close()
            let output = try said.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: output, as: UTF8.self))
        }
    }
}
