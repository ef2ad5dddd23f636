internal import Web

/// `GET /api/v1/map`: where drivers' apps load the agency's map from (spec 1.12).
struct MapEndpoint: Sendable {
    /// nil when the agency has none.
    let tilesURL: String?

    var endpoint: Endpoint {
        Endpoint(.get, "/api/v1/map", access: .staff) { [tilesURL] _ in
            var json = JSONWriter()
            json.beginObject()
            json.member("pmtiles_url", tilesURL)
            json.endObject()
            return .json(bytes: json.bytes)
        }
    }

    /// Whether an address can be handed out: http or https, with a host, and without a name and
    /// password, which would go to every driver's phone.
    static func isAllowed(_ url: String) -> Bool {
        let lowered = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lowered.hasPrefix($0) }) else {
            return false
        }
        let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#\\".contains($0) }
        return isPlain && !authority.contains("@") && !authority.prefix { $0 != ":" }.isEmpty
    }
}
