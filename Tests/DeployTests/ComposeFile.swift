import Foundation
import TestKit

/// `deploy/docker-compose.yml`, valid by the compose specification.
struct ComposeFile {
    struct Part: Decodable {
        struct Limits: Decodable {
            let cpus: String
            let memory: String
        }
        struct Condition: Decodable { let condition: String }
        struct Build: Decodable { let target: String }
        struct Resources: Decodable { let limits: Limits }
        struct Deploy: Decodable { let resources: Resources }

        let image: String
        let build: Build?
        let profiles: [String]?
        let restart: String
        let readOnly: Bool?
        let capDrop: [String]?
        let capAdd: [String]?
        let securityOpt: [String]?
        let containerName: String?
        let ports: [String]?
        let volumes: [String]?
        let networks: [String]?
        let dependsOn: [String: Condition]?
        let deploy: Deploy?
        let user: String?
    }

    let parts: [String: Part]

    /// Reads it.
    ///
    /// - Parameter path: Below the repository's root.
    /// - Throws: With what the specification's reader says, when it is not valid.
    init(_ path: String = "deploy/docker-compose.yml") throws {
        let read = try FinishedProgram.python(
            ProjectPaths.root + "/Tests/DeployTests/compose.py",
            path
        )
        guard read.status == 0 else { throw Invalid(description: read.output) }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        parts = try decoder.decode([String: Part].self, from: Data(read.output.utf8))
    }

    struct Invalid: Error, CustomStringConvertible { let description: String }
}
