extension HTTPRequest {
    /// The body as one strict JSON object: the media type, the size, compression and the text are
    /// checked in this order.
    ///
    /// - Parameter limit: The most bytes after inflating; nil is the endpoint's own limit.
    /// - Returns: The object, for reading by name.
    /// - Throws: 415 for another media type, 413 for too many bytes, 400 for bad JSON.
    public func jsonObject(limit: Int? = nil) throws(HTTPError) -> JSONObject {
        try JSONObject(parsing: try jsonBytes(limit: limit))
    }

    /// The bytes of a JSON body, inflated, for a reader of its own.
    ///
    /// - Parameter limit: The most bytes after inflating; nil is the endpoint's own limit.
    /// - Returns: The bytes, whose JSON is not checked yet.
    /// - Throws: 415 for another media type, 413 for too many bytes, 400 for bad compression.
    public func jsonBytes(limit: Int? = nil) throws(HTTPError) -> [UInt8] {
        guard hasJSONMediaType else {
            throw HTTPError(
                status: 415,
                code: "body.media_type",
                message: "Content-Type must be application/json"
            )
        }
        return try decodedBody(limit: limit)
    }

    /// The body without its content coding.
    ///
    /// - Parameter limit: The most bytes after inflating; nil is the endpoint's own limit.
    /// - Returns: The bytes.
    /// - Throws: 415 for an unknown coding, 413 for too many bytes, 400 for bad compression.
    public func decodedBody(limit: Int? = nil) throws(HTTPError) -> [UInt8] {
        let limit = limit ?? bodyLimit
        guard body.count <= limit else { throw .bodyTooLarge }
        guard let coding = headers.first("Content-Encoding")?.lowercased() else { return body }
        switch coding {
        case "identity", "": return body
        case "gzip", "x-gzip":
            do throws(GzipError) {
                return try Gzip.inflate(body, limit: limit)
            } catch {
                switch error {
                case .tooLarge: throw .bodyTooLarge
                case .malformed:
                    throw .badRequest("request body is not valid gzip", code: "body.compression")
                }
            }
        default:
            throw HTTPError(
                status: 415,
                code: "body.encoding",
                message: "Content-Encoding must be gzip or identity"
            )
        }
    }

    /// `application/json`, whose text is always UTF-8 (RFC 8259, section 8.1): a `charset` that names
    /// another one is another media type to us, and other parameters say nothing.
    private var hasJSONMediaType: Bool {
        guard let type = headers.first("Content-Type") else { return false }
        // Bytes, not characters: this is asked of every report.
        let essence = type.utf8.prefix { $0 != 0x3B }
        guard Self.isSame(essence, "application/json") else { return false }
        let parameters = type.utf8[essence.endIndex...]
        guard !parameters.isEmpty else { return true }
        return parameters.split(separator: 0x3B).allSatisfy { parameter in
            let sides = parameter.split(separator: 0x3D, maxSplits: 1)
            guard sides.count == 2, Self.isSame(sides[0], "charset") else { return true }
            return ["utf-8", "utf8", "\"utf-8\"", "\"utf8\""].contains {
                Self.isSame(sides[1], $0)
            }
        }
    }

    /// Whether bytes are a text in lower case, whatever theirs and the blanks between them.
    private static func isSame(_ bytes: Substring.UTF8View, _ text: String) -> Bool {
        let seen = bytes.lazy.filter { $0 != 0x20 && $0 != 0x09 }
        return seen.elementsEqual(text.utf8) { byte, wanted in
            byte == wanted || ((0x41...0x5A).contains(byte) && byte | 0x20 == wanted)
        }
    }
}
