import Foundation
import TestKit

/// `docs/reference/openapi.yaml`, read by the tests' own Python.
struct OpenAPIDocument {
    /// One method on one path.
    struct Operation {
        let method: String
        let path: String
        let service: String
        /// Empty for anyone.
        let roles: [String]
        /// The codes of refusals that are the operation's own, by status.
        let codes: [String: [String]]
        /// Every status that is described.
        let statuses: Set<String>
    }

    let operations: [Operation]
    /// What the header of a 401 can say.
    let challenges: [String]
    /// The codes that any call can meet.
    let generalCodes: [String]

    /// Reads the file, which must be valid OpenAPI 3.1.
    ///
    /// - Throws: With what the validator says, when it is not.
    init() throws {
        let script = """
            import json, sys, yaml
            from openapi_spec_validator import OpenAPIV31SpecValidator
            document = yaml.safe_load(open(sys.argv[1]))
            OpenAPIV31SpecValidator(document).validate()
            json.dump(document, sys.stdout)
            """
        let read = try FinishedProgram.python(
            "-c",
            script,
            ProjectPaths.root + "/docs/reference/openapi.yaml"
        )
        guard read.status == 0 else { throw StartFailure(description: read.output) }
        try self.init(json: Data(read.output.utf8))
    }

    private init(json: Data) throws {
        let file = try JSONDecoder().decode(File.self, from: json)
        challenges = file.components.headers["WWWAuthenticate"]?.schema.values ?? []
        generalCodes = file.components.responses["Refused"]?.codes ?? []
        operations = file.paths.flatMap { path, methods in
            methods.map { method, operation in
                Operation(
                    method: method.uppercased(),
                    path: path,
                    service: operation.tags.joined(),
                    roles: operation.roles,
                    codes: operation.codes ?? [:],
                    statuses: Set(operation.responses.keys)
                )
            }
        }
    }

    private struct File: Decodable {
        struct Response: Decodable {
            let codes: [String]?
            enum CodingKeys: String, CodingKey { case codes = "x-codes" }
        }
        struct Anything: Decodable {}
        struct Operation: Decodable {
            let tags: [String]
            let roles: [String]
            let codes: [String: [String]]?
            let responses: [String: Anything]
            enum CodingKeys: String, CodingKey {
                case tags, responses
                case roles = "x-roles"
                case codes = "x-codes"
            }
        }
        struct Header: Decodable {
            struct Schema: Decodable {
                let values: [String]?
                enum CodingKeys: String, CodingKey { case values = "enum" }
            }
            let schema: Schema
        }
        struct Components: Decodable {
            let headers: [String: Header]
            let responses: [String: Response]
        }

        let paths: [String: [String: Operation]]
        let components: Components
    }
}
