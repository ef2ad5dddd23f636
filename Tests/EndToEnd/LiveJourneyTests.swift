import Foundation
import TestKit
import Testing
import Web

extension EndToEnd {
    /// Two people of a convoy through the gateway, with a client that shares no code with us.
    @Suite(.timeLimit(.minutes(3))) struct LiveJourneyTests {
        @Test func `members of a convoy see each other through the gateway`() async throws {
            let product = try await Product.ready()
            let capabilities = try TestRider.object(try await product.get("/api/capabilities"))
            #expect(capabilities["social"] as? Bool == true)
            let (anna, ben) = (try await signUp(product, "anna"), try await signUp(product, "ben"))
            for (token, other) in [(anna, "ben"), (ben, "anna")] {
                _ = try await product.post(
                    "/api/friends/requests",
                    "{\"username\":\"\(other)\"}",
                    token: token
                )
            }
            let made = try await product.post("/api/convoys", "{\"name\":\"Trip\"}", token: anna)
            let convoy = try #require(TestRider.object(made)["id"] as? String)
            let group = "/api/groups/\(convoy)/invitations"
            _ = try await product.post(group, "{\"username\":\"ben\"}", token: anna)
            #expect(
                try await product.post("\(group)/respond", "{\"accept\":true}", token: ben).status
                    == 200
            )
            let port = try #require(URLComponents(string: product.url)?.port)
            let join = "{\"type\":\"join\",\"groupId\":\"\(convoy)\"}"
            let answers = try run([
                ["open", "x", port, "nonsense"], ["open", "anna", port, anna],
                ["open", "ben", port, ben],
                ["send", "anna", join], ["receive", "anna", 1], ["send", "ben", join],
                ["receive", "ben", 1],
                ["send", "anna", "{\"type\":\"location\",\"lat\":47.5,\"lon\":8.5}"],
                ["receive", "ben", 1],
                ["close", "anna"], ["receive", "ben", 1],
            ])
            #expect(answers.prefix(3).map { $0["status"] as? Int } == [401, 101, 101])
            func frame(_ index: Int) -> [String: Any]? {
                (answers[index]["frames"] as? [[String: Any]])?.first
            }
            try #require(answers.count == 11)
            #expect(frame(4)?["type"] as? String == "joined")
            let peer = (frame(8)?["peers"] as? [[String: Any]])?.first
            #expect(peer?["lat"] as? Double == 47.5)
            #expect(frame(10)?["type"] as? String == "left")
            try await product.remove()
        }

        private func signUp(_ product: Product, _ handle: String) async throws -> String {
            let body = "{\"handle\":\"\(handle)\",\"password\":\"correct horse\"}"
            let answer = try await product.post("/api/v1/auth/register", body)
            return try #require(TestRider.object(answer)["access_token"] as? String)
        }

        /// Lets the client do one thing after the other; what each came to.
        private func run(_ commands: [[Any]]) throws -> [[String: Any]] {
            let process = Process()
            let (input, output) = (Pipe(), Pipe())
            process.executableURL = URL(fileURLWithPath: ProjectPaths.root + "/.venv/bin/python")
            process.arguments = [ProjectPaths.root + "/Tests/RelayTests/live_client.py"]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            for command in commands {
                try input.fileHandleForWriting.write(
                    contentsOf: JSONSerialization.data(withJSONObject: command) + Data("\n".utf8)
                )
            }
            try input.fileHandleForWriting.close()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return text.split(separator: 0x0A).compactMap {
                (try? JSONSerialization.jsonObject(with: $0)) as? [String: Any]
            }
        }
    }
}
