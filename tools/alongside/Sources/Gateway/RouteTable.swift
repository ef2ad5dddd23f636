internal import FoundationEssentials

/// Which service answers which paths: `deploy/routes.json`, the longest prefix wins.
struct RouteTable: Sendable, Equatable {
    struct Route: Sendable, Equatable, Decodable {
        /// `/x/` means everything below; `/x` means that path and everything below it; `*` stands
        /// for one segment.
        let prefix: String
        let service: String
        /// The most connections that the gateway has to one instance for these paths.
        ///
        /// Who comes when all are in use waits in the gateway. nil sets no limit.
        var connections: Int?
    }

    /// Longest prefixes first.
    let routes: [Route]

    /// Reads the table.
    ///
    /// - Throws: ``OperationError`` naming the file when it is missing or not of this form.
    init(file: String) throws(OperationError) {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw OperationError("the route table \(file) is missing; it belongs to the repository")
        }
        struct File: Decodable { let routes: [Route] }
        let decoded: File
        do {
            decoded = try JSONDecoder().decode(File.self, from: data)
        } catch {
            throw OperationError("\(file) is not a route table: \(error)")
        }
        self.init(decoded.routes)
    }

    /// Makes a table from its routes, in any order.
    init(_ routes: [Route]) {
        self.routes = routes.sorted { left, right in
            left.prefix.utf8.count != right.prefix.utf8.count
                ? left.prefix.utf8.count > right.prefix.utf8.count : left.prefix < right.prefix
        }
    }

    /// The service that answers a path, nil when none does.
    func service(for path: String) -> String? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        return routes.first { $0.covers(segments) }?.service
    }

    /// Refuses a table that sends paths to a service that nobody runs.
    ///
    /// - Throws: ``OperationError`` naming the prefix and the service.
    func check(against services: [String]) throws(OperationError) {
        for route in routes where !services.contains(route.service) {
            throw OperationError(
                "deploy/routes.json sends \(route.prefix) to \"\(route.service)\", which is no service"
            )
        }
    }
}

extension RouteTable.Route {
    /// Whether a path, split at its slashes, lies under the prefix.
    fileprivate func covers(_ path: [Substring]) -> Bool {
        var wanted = prefix.split(separator: "/", omittingEmptySubsequences: false)
        if wanted.last == "" {
            wanted.removeLast()
            guard path.count > wanted.count else { return false }
        }
        return path.count >= wanted.count
            && zip(wanted, path).allSatisfy { $0 == "*" ? !$1.isEmpty : $0 == $1 }
    }
}
