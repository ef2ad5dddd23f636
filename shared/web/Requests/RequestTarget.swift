/// A request target taken apart: split on the raw `/`, then each segment decoded once.
///
/// A trip id `a/b c` sent as `a%2Fb%20c` therefore stays one segment.
struct RequestTarget {
    let segments: [String]
    let query: QueryItems

    /// Reads an origin-form (`/a/b?c=d`) or absolute-form (`http://host/a/b`) target.
    ///
    /// - Returns: nil for another form, or a part that is not percent-encoded UTF-8.
    init?(_ target: UnsafeBufferPointer<UInt8>) {
        var rest = target[...]
        if rest.first != 0x2F {
            guard let path = Self.pathOfAbsoluteForm(rest) else { return nil }
            rest = path
        }
        var queryText = rest[rest.endIndex...]
        if let mark = rest.firstIndex(of: 0x3F) {
            queryText = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        var segments: [String] = []
        for part in rest.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false) {
            guard let segment = Self.segment(part) else { return nil }
            segments.append(segment)
        }
        self.segments = segments
        if queryText.isEmpty {
            query = QueryItems()
        } else {
            guard let query = QueryItems(decoding: queryText) else { return nil }
            self.query = query
        }
    }

    private static func segment(_ part: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        guard part.contains(where: { $0 == 0x25 || $0 >= 0x80 }) else {
            return String(decoding: part, as: UTF8.self)
        }
        return PercentDecoding.decode(part)
    }

    private static func pathOfAbsoluteForm(
        _ target: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Slice<UnsafeBufferPointer<UInt8>>? {
        for scheme in ["http://", "https://"] {
            let prefix = target.prefix(scheme.utf8.count)
            guard prefix.elementsEqual(scheme.utf8, by: { $0.asciiLowercased == $1 }) else {
                continue
            }
            let afterScheme = target.dropFirst(scheme.utf8.count)
            guard let slash = afterScheme.firstIndex(of: 0x2F) else { return nil }
            return afterScheme[slash...]
        }
        return nil
    }
}
