internal import CLibPQ

/// Finds connection URLs that libpq takes apart at the wrong place, as it does when a password has
/// a `/`, an `@` or a `%` that is not written as `%2F`, `%40` or `%25`.
enum URLFault {
    private static let remedy =
        "the URL cannot be read: in user and password write / as %2F, @ as %40, : as %3A, % as %25"

    /// Says what to do about a URL, without a word of it.
    ///
    /// - Parameter url: A libpq connection URL or string.
    /// - Returns: A sentence, or nil when its parts look like what they are.
    static func sentence(for url: String) -> String? {
        guard let options = PQconninfoParse(url, nil) else { return remedy }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val,
                isMisread(String(cString: keyword), String(cString: value), url)
            {
                return remedy
            }
            option += 1
        }
        return nil
    }

    private static func isMisread(_ keyword: String, _ value: String, _ url: String) -> Bool {
        switch keyword {
        case "port": !value.utf8.allSatisfy { $0 == 0x2C || (0x30...0x39).contains($0) }
        // A socket in the abstract name space begins with an @.
        case "host": !value.hasPrefix("/") && value.dropFirst().contains("@")
        case "dbname": value.contains("@") && !url.contains("%40")
        default: false
        }
    }
}
