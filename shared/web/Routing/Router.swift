/// Finds the endpoint for a path; literal segments win over parameters, whatever their order.
struct Router: Sendable {
    /// What a look-up found.
    enum Match {
        case endpoint(index: Int, parameters: [String: String])
        case methodNotAllowed(allow: [HTTPMethod])
        case notFound
    }

    private struct Leaf {
        let endpoint: Int
        let names: [String]
    }

    /// A segment of the tree of patterns.
    ///
    /// Nodes are indices, so that the tree is a plain value.
    private struct Node {
        var literals: [String: Int] = [:]
        var parameter: Int?
        var leaves: [HTTPMethod: Leaf] = [:]
        var catchAll: [HTTPMethod: Leaf] = [:]
    }

    private var nodes = [Node()]

    /// Builds the tree.
    ///
    /// - Throws: For a pattern that cannot be read and for two endpoints that answer the same.
    init(_ endpoints: [Endpoint]) throws(HTTPServerError) {
        for (index, endpoint) in endpoints.enumerated() { try add(endpoint, at: index) }
    }

    /// Finds the endpoint for a method and a path.
    func match(_ method: HTTPMethod?, _ path: [String]) -> Match {
        var allowed: Set<HTTPMethod> = []
        var values: [String] = []
        let found = search(node: 0, path[...], method, &values, &allowed)
        if let found {
            return .endpoint(
                index: found.endpoint,
                parameters: Dictionary(
                    zip(found.names, values),
                    uniquingKeysWith: { first, _ in first }
                )
            )
        }
        guard !allowed.isEmpty else { return .notFound }
        return .methodNotAllowed(allow: allowed.sorted { $0.rawValue < $1.rawValue })
    }

    private func search(
        node: Int,
        _ rest: ArraySlice<String>,
        _ method: HTTPMethod?,
        _ values: inout [String],
        _ allowed: inout Set<HTTPMethod>
    ) -> Leaf? {
        if let segment = rest.first {
            if let next = nodes[node].literals[segment],
                let leaf = search(node: next, rest.dropFirst(), method, &values, &allowed)
            {
                return leaf
            }
            if let next = nodes[node].parameter, !segment.isEmpty {
                values.append(segment)
                if let leaf = search(node: next, rest.dropFirst(), method, &values, &allowed) {
                    return leaf
                }
                values.removeLast()
            }
        } else if let leaf = leaf(nodes[node].leaves, method, &allowed) {
            return leaf
        }
        guard let leaf = leaf(nodes[node].catchAll, method, &allowed) else { return nil }
        values.append(rest.joined(separator: "/"))
        return leaf
    }

    private func leaf(
        _ leaves: [HTTPMethod: Leaf],
        _ method: HTTPMethod?,
        _ allowed: inout Set<HTTPMethod>
    ) -> Leaf? {
        if leaves.isEmpty { return nil }
        if let method {
            if let leaf = leaves[method] { return leaf }
            if method == .head, let leaf = leaves[.get] { return leaf }
        }
        allowed.formUnion(leaves.keys)
        if leaves[.get] != nil { allowed.insert(.head) }
        return nil
    }

    private mutating func add(_ endpoint: Endpoint, at index: Int) throws(HTTPServerError) {
        guard endpoint.pattern.utf8.first == 0x2F else {
            throw .invalidPattern(endpoint.pattern, "it must begin with /")
        }
        var node = 0
        var names: [String] = []
        let segments = endpoint.pattern.dropFirst()
            .split(separator: "/", omittingEmptySubsequences: false)
        for (position, segment) in segments.enumerated() {
            guard segment.first == "{" else {
                node = literal(String(segment), of: node)
                continue
            }
            guard segment.last == "}", segment.count > 2 else {
                throw .invalidPattern(endpoint.pattern, "\(segment) is no parameter")
            }
            let name = String(segment.dropFirst().dropLast())
            if name.hasSuffix("...") {
                guard position == segments.count - 1 else {
                    throw .invalidPattern(endpoint.pattern, "\(segment) must come last")
                }
                let leaf = Leaf(endpoint: index, names: names + [String(name.dropLast(3))])
                guard nodes[node].catchAll.updateValue(leaf, forKey: endpoint.method) == nil else {
                    throw .duplicateEndpoint("\(endpoint.method.rawValue) \(endpoint.pattern)")
                }
                return
            }
            guard !names.contains(name) else {
                throw .invalidPattern(endpoint.pattern, "\(name) stands twice")
            }
            names.append(name)
            node = parameter(of: node)
        }
        let leaf = Leaf(endpoint: index, names: names)
        guard nodes[node].leaves.updateValue(leaf, forKey: endpoint.method) == nil else {
            throw .duplicateEndpoint("\(endpoint.method.rawValue) \(endpoint.pattern)")
        }
    }

    private mutating func literal(_ segment: String, of node: Int) -> Int {
        if let next = nodes[node].literals[segment] { return next }
        nodes.append(Node())
        nodes[node].literals[segment] = nodes.count - 1
        return nodes.count - 1
    }

    private mutating func parameter(of node: Int) -> Int {
        if let next = nodes[node].parameter { return next }
        nodes.append(Node())
        nodes[node].parameter = nodes.count - 1
        return nodes.count - 1
    }
}
