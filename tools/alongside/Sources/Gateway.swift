internal import Web

/// The gateway's configuration: Caddy in front of the services, on one port.
///
/// Caddy ends what services cannot see behind their HTTP library: a NUL in a header is refused,
/// bare line feeds and folded headers are rewritten, slow requests are cut.
struct Gateway: Sendable {
    /// The largest body that any endpoint takes, in bytes; each service has its own, smaller caps and
    /// reads a refused body up to this size, so that its answer is not lost in a broken connection.
    static let bodyLimit = HTTPServerConfiguration.proxiedBodyLimit
    let routes: RouteTable
    /// `host:port` of each running instance, by service.
    let upstreams: [String: [String]]
    /// Where `up` itself answers `/ready`.
    let supervisor: String
    let bind: String
    let port: Int
    /// How long a request waits for a service that is being started again.
    var retryDuration = "6s"

    private static let tooLarge = #"{"error":"request body too large","code":"body.too_large"}"#

    /// The Caddyfile, the same text for the same input.
    var caddyfile: String {
        var text = """
            {
            \tadmin off
            \tauto_https off
            \tservers {
            \t\tprotocols h1
            \t\tmax_header_size 32KB
            \t\ttimeouts {
            \t\t\tread_header 10s
            \t\t\tread_body 15s
            \t\t\twrite 0
            \t\t\tidle 60s
            \t\t}
            \t}
            }

            http://:\(port) {
            \tbind \(bind)
            \trequest_body {
            \t\tmax_size \(Self.bodyLimit)
            \t}
            \t@large expression `{http.request.header.Content-Length}.matches("^[0-9]+$") && (size({http.request.header.Content-Length}) > 9 || int({http.request.header.Content-Length}) > \(Self.bodyLimit))`
            \thandle @large {
            \t\theader Content-Type application/json
            \t\trespond `\(Self.tooLarge)` 413
            \t}

            """
        text += handle("/ready", [supervisor])
        for route in routes.routes {
            guard let addresses = upstreams[route.service], !addresses.isEmpty else { continue }
            for pattern in Self.patterns(route.prefix) { text += handle(pattern, addresses) }
        }
        text += """
            \thandle {
            \t\theader Content-Type application/json
            \t\trespond `{"error":"not found","code":"path.unknown"}` 404
            \t}
            \thandle_errors {
            \t\theader Content-Type application/json
            \t\t@oversize expression `{http.error.status_code} == 413`
            \t\thandle @oversize {
            \t\t\trespond `\(Self.tooLarge)` 413
            \t\t}
            \t\t@malformed expression `{http.error.message}.matches("chunk|unexpected EOF|malformed")`
            \t\thandle @malformed {
            \t\t\trespond `{"error":"malformed request body","code":"request.malformed"}` 400
            \t\t}
            \t\t@down expression `{http.error.status_code} in [502, 504]`
            \t\thandle @down {
            \t\t\theader Retry-After 2
            \t\t\trespond `{"error":"service unavailable, try again","code":"service.unavailable"}` 503
            \t\t}
            \t\thandle {
            \t\t\trespond `{"error":"{http.error.status_text}","code":"gateway.refused"}` {http.error.status_code}
            \t\t}
            \t}
            }

            """
        return text
    }

    private static func patterns(_ prefix: String) -> [String] {
        prefix.hasSuffix("/") ? [prefix + "*"] : [prefix, prefix + "/*"]
    }

    private func handle(_ pattern: String, _ addresses: [String]) -> String {
        """
        \thandle \(pattern) {
        \t\treverse_proxy \(addresses.joined(separator: " ")) {
        \t\t\tlb_policy round_robin
        \t\t\tlb_try_duration \(retryDuration)
        \t\t\tlb_try_interval 100ms
        \t\t\tflush_interval -1
        \t\t\t@unread status 414 431
        \t\t\thandle_response @unread {
        \t\t\t\theader Content-Type application/json
        \t\t\t\trespond `{"error":"request header fields too large","code":"request.too_large"}` {rp.status_code}
        \t\t\t}
        \t\t}
        \t}

        """
    }
}
