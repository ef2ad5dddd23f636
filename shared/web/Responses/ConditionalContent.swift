/// Content that is answered many times: prebuilt as it is, gzipped, and as "not modified".
///
/// Built once for each state of the content, off the loop thread when it is big. Each answer then
/// shares its bytes and its head with all others.
public final class ConditionalContent: Sendable {
    /// The entity tag of the content as it is, quotes included.
    public let entityTag: String
    /// When the content was last changed, in POSIX seconds; nil sends no `Last-Modified`.
    public let lastModified: Int64?

    private struct Variant: Sendable {
        let entityTag: String
        let whole: HTTPResponse
        let notModified: HTTPResponse
    }

    private let plain: Variant
    private let gzipped: Variant?

    /// Builds all answers.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - contentType: Its media type.
    ///   - entityTag: A tag without quotes that changes with the content; nil derives it from the
    ///     bytes.
    ///   - lastModified: When the content was last changed, in POSIX seconds.
    ///   - headers: More headers of every answer, such as `Cache-Control`.
    ///   - gzipped: The content compressed already; nil compresses here where it is worth it.
    ///   - compresses: Whether it may be compressed here; false where nobody may wait for it.
    public init(
        _ bytes: [UInt8],
        contentType: String,
        entityTag: String? = nil,
        lastModified: Int64? = nil,
        headers: [(String, String)] = [],
        gzipped: [UInt8]? = nil,
        compresses: Bool = true
    ) {
        let tag = entityTag ?? Self.contentTag(bytes)
        self.entityTag = "\"\(tag)\""
        self.lastModified = lastModified
        let packed =
            gzipped
            ?? (compresses ? HTTPResponse.worthCompressing(bytes.count, contentType, bytes) : nil)
        var common = headers
        if packed != nil { common.append(("Vary", "Accept-Encoding")) }
        if let lastModified { common.append(("Last-Modified", HTTPDate.text(lastModified))) }
        func variant(_ tag: String, _ bytes: [UInt8], _ more: [(String, String)]) -> Variant {
            let head = common + [("ETag", tag)]
            return Variant(
                entityTag: tag,
                whole: HTTPResponse(
                    headers: [("Content-Type", contentType)] + head + more,
                    body: .shared(SharedBytes(bytes))
                ).preparing(),
                notModified: HTTPResponse(status: 304, headers: head).preparing()
            )
        }
        plain = variant(self.entityTag, bytes, [])
        self.gzipped = packed.map {
            variant("\"\(tag)-gzip\"", $0, [("Content-Encoding", "gzip")])
        }
    }

    /// The answer for one request: the whole content, or 304 when the caller has it.
    public func response(to request: HTTPRequest) -> HTTPResponse {
        let variant =
            request.acceptsGzip ? gzipped ?? plain : plain
        return isUnchanged(request.headers, variant) ? variant.notModified : variant.whole
    }

    /// `If-None-Match` decides where it is there, else `If-Modified-Since` (RFC 9110 section 13).
    private func isUnchanged(_ headers: HTTPHeaders, _ variant: Variant) -> Bool {
        let tags = headers.values("If-None-Match")
        guard tags.isEmpty else {
            return tags.contains { Self.list($0, contains: variant.entityTag) }
        }
        guard let lastModified, let since = headers.first("If-Modified-Since"),
            let seconds = HTTPDate.seconds(since)
        else { return false }
        return lastModified <= seconds
    }

    /// Compares weakly: a `W/` in front does not matter.
    static func list(_ tags: String, contains tag: String) -> Bool {
        tags.split(separator: ",").contains { part in
            var part = part.drop { $0 == " " || $0 == "\t" }
            while part.last == " " || part.last == "\t" { part.removeLast() }
            if part == "*" { return true }
            if part.hasPrefix("W/") { part = part.dropFirst(2) }
            return part == tag
        }
    }

    /// 64 bits of FNV-1a over the bytes and their number.
    private static func contentTag(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes {
            hash ^= UInt64(byte)
            hash = hash &* 0x0000_0100_0000_01B3
        }
        return String(hash, radix: 16) + "-" + String(bytes.count, radix: 16)
    }
}
