internal import CMicrohttpd
internal import Synchronization
public import Telemetry

/// An HTTP/1.1 server on libmicrohttpd.
///
/// One loop thread accepts, reads, answers inline endpoints and sends; endpoints that may wait run
/// on the cooperative pool. It speaks plain HTTP to a gateway in front of it, which ends TLS, slow
/// requests and the malformed ones that cannot be seen behind the library.
public final class HTTPServer: Sendable {
    private struct State {
        var keeper: Keeper?
        var isStarted = false
        var isStopped = false
    }

    /// Connections beyond the admitted ones that still get a 503 instead of silence.
    private static let surplusConnections = 64

    /// What the server offers, for tests that walk all endpoints.
    public let endpoints: [Endpoint]
    private let core: ServerCore
    private let state = Mutex(State())

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - endpoints: What it offers.
    ///   - configuration: Where it listens and how much it admits.
    ///   - authorizer: Decides who may call endpoints that are not open.
    ///   - logger: Gets a line for each request.
    ///   - metrics: Where requests are counted.
    /// - Throws: ``HTTPServerError`` for a bad pattern or two endpoints that answer the same.
    public init(
        endpoints: [Endpoint],
        configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
        authorizer: any Authorizer = NoAuthorizer(),
        logger: Logger = .silent,
        metrics: Metrics = Metrics()
    ) throws(HTTPServerError) {
        self.endpoints = endpoints
        core = try ServerCore(
            endpoints: endpoints,
            configuration: configuration,
            authorizer: authorizer,
            logger: logger,
            metrics: metrics
        )
    }

    /// Listens and answers from now on.
    ///
    /// - Returns: The port, which the system chose if the configuration says 0.
    /// - Throws: ``HTTPServerError`` that says what to do next; nothing is left open.
    @discardableResult
    public func start() throws(HTTPServerError) -> Int {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { throw .alreadyStarted }
        let configuration = core.configuration
        let socket = try ListenSocket(host: configuration.host, port: configuration.port)
        var flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_ALLOW_UPGRADE.rawValue | MHD_USE_ERROR_LOG.rawValue
        if socket.isIPv6 { flags |= MHD_USE_IPv6.rawValue }
        var callbacks = makeServerCallbacks(core)
        let daemon = alongside_mhd_start(
            flags,
            socket.descriptor,
            UInt32(configuration.maximumConnections + Self.surplusConnections),
            UInt32(max(1, configuration.idleTimeLimit.milliseconds / 1000)),
            configuration.memoryPerConnection,
            &callbacks
        )
        guard let daemon else {
            _ = close(socket.descriptor)
            throw .cannotListen(
                "\(configuration.host):\(configuration.port)",
                reason: "the HTTP library could not start"
            )
        }
        // The keeper holds the core, and its thread the keeper, until the daemon has stopped.
        let keeper = Keeper(core, daemon: daemon, listener: socket.descriptor)
        state.withLock { $0.keeper = keeper }
        return socket.port
    }

    /// Stops accepting, answers what is in flight and ends.
    ///
    /// - Parameter limit: How long handlers may still take; then they are cancelled and their
    ///   callers get 503.
    public func shutdown(within limit: Duration) async {
        let keeper = state.withLock { $0.keeper }
        await keeper?.shutdown(within: limit)
    }
}
