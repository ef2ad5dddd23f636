internal import FoundationEssentials

/// The bytes of an answer.
public enum ResponseBody: Sendable {
    /// No bytes.
    case empty
    /// Bytes that are copied once when sent; right for answers made for one request.
    case bytes([UInt8])
    /// Bytes that are sent without a copy.
    case shared(SharedBytes)

    /// The number of bytes.
    public var count: Int {
        switch self {
        case .empty: 0
        case .bytes(let bytes): bytes.count
        case .shared(let bytes): bytes.count
        }
    }

    /// The bytes, copied where they are shared.
    public var bytes: [UInt8] {
        switch self {
        case .empty: []
        case .bytes(let bytes): bytes
        case .shared(let shared): shared.bytes
        }
    }
}

/// An answer to one request.
public struct HTTPResponse: Sendable {
    /// The HTTP status.
    public var status: Int {
        didSet { prepared = nil }
    }
    /// Header names and values; `Content-Length`, `Date` and `Connection` are the server's own.
    public var headers: [(String, String)] {
        didSet { prepared = nil }
    }
    /// The bytes after the head.
    public var body: ResponseBody {
        didSet { prepared = nil }
    }
    /// The library's form of this answer, where ``preparing()`` made one.
    private(set) var prepared: PreparedResponse?

    /// Makes an answer.
    public init(status: Int = 200, headers: [(String, String)] = [], body: ResponseBody = .empty) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer without a body.
    public static func empty(_ status: Int = 204) -> HTTPResponse { HTTPResponse(status: status) }

    /// An answer of finished JSON bytes, as a ``JSONWriter`` makes them.
    public static func json(bytes: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [("Content-Type", "application/json")],
            body: .bytes(bytes)
        )
    }

    /// An answer of one encoded value, its keys sorted so that equal values make equal bytes.
    ///
    /// - Throws: The encoder's error, such as for a number that is not finite.
    public static func json(
        _ value: some Encodable,
        status: Int = 200
    ) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .json(bytes: Array(try encoder.encode(value)), status: status)
    }

    /// An answer of text in UTF-8.
    public static func text(
        _ text: String,
        status: Int = 200,
        contentType: String = "text/plain; charset=utf-8"
    ) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [("Content-Type", contentType)],
            body: .bytes(Array(text.utf8))
        )
    }

    /// The answer for a refusal: `{"error":"<message>","code":"<code>"}`, `Retry-After`, and with 401
    /// `WWW-Authenticate`, without which no 401 may go out (RFC 9110, section 15.5.2).
    ///
    /// Nothing on the way may keep it: what is refused to one caller now says nothing of the next,
    /// and 404 and 405 could otherwise be kept (RFC 9111, section 4.2.2).
    public static func error(_ error: HTTPError) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("error", error.message)
        writer.member("code", error.code)
        for detail in error.details { writer.member(detail.name, detail.value) }
        writer.endObject()
        var response = HTTPResponse.json(bytes: writer.bytes, status: error.status)
        if let retryAfter = error.retryAfter {
            response.headers.append(("Retry-After", String(retryAfter)))
        }
        if error.status == 401 {
            response.headers.append(("WWW-Authenticate", error.challenge.text))
        }
        return response.notStored()
    }

    /// The answer for a refusal given by its parts.
    public static func error(
        _ status: Int,
        _ code: String,
        _ message: String,
        retryAfterSeconds: Int? = nil
    ) -> HTTPResponse {
        .error(
            HTTPError(
                status: status,
                code: code,
                message: message,
                retryAfter: retryAfterSeconds
            )
        )
    }

    /// The same answer, which nothing on the way may keep; for what concerns one caller.
    public func notStored() -> HTTPResponse {
        var response = self
        response.headers.append(("Cache-Control", "no-store"))
        return response
    }

    /// The value of the first header with this name.
    public func header(_ name: String) -> String? {
        headers.first { HTTPHeaders([$0]).contains(name) }?.1
    }

    /// The same answer in the library's form, for answers that are sent many times.
    ///
    /// Sending it copies nothing and builds nothing; changing it afterwards drops that form.
    public func preparing() -> HTTPResponse {
        var response = self
        response.prepared = PreparedResponse(self)
        return response
    }
}
