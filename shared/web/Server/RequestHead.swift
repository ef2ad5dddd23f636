internal import CMicrohttpd

/// The header lines of a request and what libmicrohttpd does not check about them.
///
/// The library, strict as it is set, still admits names that are no tokens, more than one
/// `Content-Length`, and `Content-Length` beside `Transfer-Encoding`: the stuff that request
/// smuggling is made of (RFC 9112 sections 5.1, 6.1 and 6.3).
struct RequestHead {
    private(set) var headers = HTTPHeaders()
    private(set) var isMalformed = false

    /// Reads all header lines of a connection's current request.
    init(_ connection: OpaquePointer) {
        withUnsafeMutablePointer(to: &self) { head in
            _ = MHD_get_connection_values_n(
                connection,
                .HEADER_KIND,
                collectHeaderLine,
                UnsafeMutableRawPointer(head)
            )
        }
    }

    /// Why the request must be refused and its connection closed, or nil.
    func fault(version: String) -> HTTPError? {
        if isMalformed { return .badRequest("malformed header", code: "request.malformed") }
        let lengths = headers.count(of: "Content-Length")
        if lengths > 1 {
            return .badRequest("more than one Content-Length", code: "request.malformed")
        }
        if let encoding = headers.first("Transfer-Encoding") {
            if lengths > 0 || headers.count(of: "Transfer-Encoding") > 1 {
                return .badRequest("ambiguous body length", code: "request.malformed")
            }
            guard encoding.lowercased() == "chunked", version == "HTTP/1.1" else {
                return HTTPError(
                    status: 501,
                    code: "request.transfer_encoding",
                    message: "Transfer-Encoding must be chunked"
                )
            }
        }
        if headers.count(of: "Host") > 1 {
            return .badRequest("more than one Host", code: "request.malformed")
        }
        return nil
    }

    /// The announced length of the body; nil for a chunked one.
    var announcedLength: Int? {
        guard !headers.contains("Transfer-Encoding") else { return nil }
        guard let text = headers.first("Content-Length") else { return 0 }
        return Int(text) ?? .max
    }

    fileprivate mutating func add(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        if name.isEmpty || !name.allSatisfy(\.isTokenByte) { isMalformed = true }
        if value.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) { isMalformed = true }
        headers.append(name: name, value: value)
    }
}

private func collectHeaderLine(
    _ context: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ name: UnsafePointer<CChar>?,
    _ nameCount: Int,
    _ value: UnsafePointer<CChar>?,
    _ valueCount: Int
) -> MHD_Result {
    guard let head = context?.assumingMemoryBound(to: RequestHead.self) else { return .NO }
    head.pointee.add(bytes(name, nameCount), bytes(value, valueCount))
    return .YES
}

private func bytes(_ text: UnsafePointer<CChar>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
        start: text.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) },
        count: text == nil ? 0 : count
    )
}

extension UInt8 {
    /// True for the bytes of a token (RFC 9110 section 5.6.2).
    fileprivate var isTokenByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
