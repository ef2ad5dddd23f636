internal import ServiceKit
internal import Web

/// The gateway's configuration: Caddy in front of the services, on one port.
///
/// Caddy ends what services cannot see behind their HTTP library: a NUL in a header is refused,
/// bare line feeds and folded headers are rewritten, slow requests are cut.
struct Gateway: Sendable {
    /// The largest body that any endpoint takes, in bytes; each service has its own, smaller caps and
    /// reads a refused body up to this size, so that its answer is not lost in a broken connection.
    static let bodyLimit = HTTPServerConfiguration.proxiedBodyLimit

    /// Whom the gateway is for.
    enum Site: Sendable {
        /// This machine, without TLS; `supervisor` is where `up` itself answers `/ready`.
        case local(bind: String, port: Int, supervisor: String)
        /// The public, under the name in the variable `SITE_ADDRESS`, with TLS; on the ports of `HTTP_PORT` and
        /// `HTTPS_PORT`, by default those that need no privilege.
        case published
    }

    /// Where the instances of a service are.
    enum Upstream: Sendable {
        /// `host:port` of each.
        case addresses([String])
        /// Every address of a name, asked for again and again: instances come and go.
        case name(String, port: Int)
    }

    let routes: RouteTable
    /// By service; one without is answered 404.
    let upstreams: [String: Upstream]
    let site: Site
    /// Whether a local site has one for the public beside it, as the variables say.
    var isAlsoPublished = false
    /// Where the published gateway says that it lives, inside its container.
    static let healthPort = 8100
    /// How long a request waits for a service that is being started again.
    var retryDuration = "6s"

    /// The gateway of a deployment whose services have names and default ports.
    static func published(_ routes: RouteTable) -> Gateway {
        var upstreams: [String: Upstream] = [:]
        for service in Fleet.definitions {
            if let port = service.publicPort {
                upstreams[service.name] = .name(service.name, port: port)
            }
        }
        return Gateway(routes: routes, upstreams: upstreams, site: .published)
    }

    private static let tooLarge = #"{"error":"request body too large","code":"body.too_large"}"#

    /// The Caddyfile, the same text for the same input.
    var caddyfile: String {
        switch site {
        case .local(let bind, let port, let supervisor):
            let own = "http://:\(port) {\n\tbind \(bind)\n" + body(supervisor: supervisor)
            return options + own + (isAlsoPublished ? "\n" + Self.publicAddress + body() : "")
        case .published:
            return options + Self.healthSite + Self.publicAddress + body()
        }
    }

    /// What a site does behind its address.
    private func body(supervisor: String? = nil) -> String {
        var text = """
            \trequest_body {
            \t\tmax_size \(Self.bodyLimit)
            \t}
            \t@large expression `{http.request.header.Content-Length}.matches("^[0-9]+$") && (size({http.request.header.Content-Length}) > 9 || int({http.request.header.Content-Length}) > \(Self.bodyLimit))`
            \thandle @large {
            \t\theader Content-Type application/json
            \t\trespond `\(Self.tooLarge)` 413
            \t}

            """
        if let supervisor { text += handle("/ready", .addresses([supervisor])) }
        for route in routes.routes {
            guard let upstream = upstreams[route.service] else { continue }
            for pattern in Self.patterns(route.prefix) {
                text += handle(pattern, upstream, connections: route.connections)
            }
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

    /// What holds for every site: limits on slow and large requests, and on how long a stop waits for streams.
    private var options: String {
        let (own, protocols) =
            switch site {
            case .local where !isAlsoPublished: ("\tauto_https off\n", "h1")
            case .local, .published: (Self.publicPorts + "\tskip_install_trust\n", "h1 h2")
            }
        return """
            {
            \tadmin off
            \tgrace_period 5s
            \(own)\tservers {
            \t\tprotocols \(protocols)
            \t\tmax_header_size 32KB
            \t\ttimeouts {
            \t\t\tread_header 10s
            \t\t\tread_body 15s
            \t\t\twrite 0
            \t\t\tidle 60s
            \t\t}
            \t}
            }


            """
    }

    /// Where a container listens, unless the variables say otherwise.
    private static let publicPorts =
        "\thttp_port {$HTTP_PORT:8080}\n\thttps_port {$HTTPS_PORT:8443}\n"

    private static let healthSite = """
        # For the health check of the container alone.
        http://127.0.0.1:\(healthPort) {
        \tbind 127.0.0.1
        \trespond /health 200
        }


        """

    private static let publicAddress = """
        {$SITE_ADDRESS:localhost} {
        \theader Strict-Transport-Security max-age=31536000

        """

    /// How long a service may think.
    ///
    /// Who reads a feed gets it from another replica when one hangs; other answers may take 14 s.
    private static func patience(_ pattern: String) -> String {
        pattern.hasPrefix("/gtfs-rt/") ? "2s" : "20s"
    }

    private static func patterns(_ prefix: String) -> [String] {
        prefix.hasSuffix("/") ? [prefix + "*"] : [prefix, prefix + "/*"]
    }

    /// One route.
    ///
    /// Each has connections of its own. Without a limit Caddy dials for every call that waits: ten
    /// thousand log-ins fill the backlog of auth, and a refresh is dialed again and again for 19 s.
    private func handle(
        _ pattern: String,
        _ upstream: Upstream,
        connections: Int? = nil
    ) -> String {
        let addresses: String
        var discovery = ""
        var transport = ""
        if let connections {
            transport = """
                \t\t\t\tkeepalive_idle_conns_per_host \(connections)
                \t\t\t\tmax_conns_per_host \(connections)

                """
        }
        switch upstream {
        case .addresses(let list):
            addresses = list.joined(separator: " ") + " "
        case .name(let name, let port):
            addresses = ""
            discovery = """
                \t\t\tdynamic a {
                \t\t\t\tname \(name)
                \t\t\t\tport \(port)
                \t\t\t\trefresh 2s
                \t\t\t}

                """
            transport = """
                \t\t\t\tdial_timeout 1s
                \t\t\t\tresponse_header_timeout \(Self.patience(pattern))

                """ + transport
        }
        if !transport.isEmpty { transport = "\t\t\ttransport http {\n\(transport)\t\t\t}\n" }
        return """
            \thandle \(pattern) {
            \t\treverse_proxy \(addresses){
            \(discovery)\(transport)\
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
