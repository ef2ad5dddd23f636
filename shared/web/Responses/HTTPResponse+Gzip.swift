extension HTTPRequest {
    /// True when the caller takes gzip (RFC 9110 section 12.5.3).
    public var acceptsGzip: Bool {
        for line in headers.values("Accept-Encoding") {
            for part in line.split(separator: ",") {
                let pieces = part.filter { $0 != " " && $0 != "\t" }.lowercased()
                    .split(separator: ";")
                guard pieces.first == "gzip" || pieces.first == "*" else { continue }
                let weight = pieces.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
                return weight.map { (Double($0) ?? 0) > 0 } ?? true
            }
        }
        return false
    }
}

extension HTTPResponse {
    /// Below this many bytes gzip saves no packet.
    static let smallestCompressed = 1024

    /// The same answer, gzipped where the caller takes it and it is worth it.
    ///
    /// - Parameter request: The request that is answered.
    /// - Returns: An answer that varies by `Accept-Encoding`, compressed or not.
    public func compressed(for request: HTTPRequest) -> HTTPResponse {
        guard header("Content-Encoding") == nil, body.count >= Self.smallestCompressed else {
            return self
        }
        var response = self
        response.headers.append(("Vary", "Accept-Encoding"))
        guard request.acceptsGzip,
            let packed = Self.worthCompressing(
                body.count,
                header("Content-Type") ?? "",
                body.bytes
            )
        else { return response }
        response.body = .bytes(packed)
        response.headers.append(("Content-Encoding", "gzip"))
        return response
    }

    /// The bytes gzipped; nil where that would not save a tenth.
    static func worthCompressing(
        _ count: Int,
        _ contentType: String,
        _ bytes: @autoclosure () -> [UInt8]
    ) -> [UInt8]? {
        guard count >= smallestCompressed, !contentType.hasPrefix("image/png"),
            !contentType.hasPrefix("font/")
        else { return nil }
        let packed = Gzip.compress(bytes())
        return packed.count < count * 9 / 10 ? packed : nil
    }
}
