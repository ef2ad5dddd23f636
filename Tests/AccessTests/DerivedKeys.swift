import Foundation
import ServiceKit
import TestKit

@testable import Operations

/// Keys of a fleet as an operator hands them out.
enum DerivedKeys {
    /// What `alongside keys derive` prints for a service, which does not know the secret.
    static func environment(
        of service: String,
        generation: Int
    ) throws -> [String: String] {
        let settings = try UpSettings.table.read(environment: [
            "JWT_SECRET": TestTokens.secret.revealed(), "JWT_KEY_GENERATION": "\(generation)",
        ])
        var environment = ["JWT_SECRET": ""]
        let sections = try KeysCommand.derive(settings).components(separatedBy: "# ")
        let lines = sections.first { $0.hasPrefix(service + "\n") }?.split(separator: "\n") ?? []
        for line in lines.dropFirst() {
            let pair = line.split(separator: "=", maxSplits: 1)
            environment[String(pair[0])] = String(pair[1])
        }
        return environment
    }

    /// The generation that a token's `kid` names.
    static func generation(of token: String) -> Int {
        struct Header: Decodable { let kid: String }
        var text = String(token.prefix { $0 != "." })
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        text = text.replacing("-", with: "+").replacing("_", with: "/")
        guard let data = Data(base64Encoded: text),
            let header = try? JSONDecoder().decode(Header.self, from: data)
        else { return 0 }
        return header.kid.split(separator: ".").last.flatMap { Int($0) } ?? 0
    }
}
