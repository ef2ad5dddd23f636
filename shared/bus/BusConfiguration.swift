/// Who this process is on the bus and where it listens.
public struct BusConfiguration: Sendable {
    /// The kind of service, such as `verifier`.
    public var service: String
    /// The name of this process, unique in the fleet and stable over restarts.
    public var instance: String
    /// `ipc:///run/alongside/`, `tcp://0.0.0.0:` (free ports) or `tcp://0.0.0.0:7000` (7000, 7001).
    public var urlPrefix: String
    /// The host others connect to; needed when ``urlPrefix`` listens on every address.
    public var advertiseHost: String?
    /// The fleet's key pair; required for tcp, unused for ipc.
    public var curve: CurveKeys?
    /// Every limit.
    public var limits: BusLimits

    /// Makes a configuration; it is checked when the bus is made.
    public init(
        service: String,
        instance: String,
        urlPrefix: String,
        advertiseHost: String? = nil,
        curve: CurveKeys? = nil,
        limits: BusLimits = BusLimits()
    ) {
        self.service = service
        self.instance = instance
        self.urlPrefix = urlPrefix
        self.advertiseHost = advertiseHost
        self.curve = curve
        self.limits = limits
    }
}

/// The addresses of one instance: what it binds, and what it tells the others.
struct BusEndpoints: Equatable {
    enum Transport: Equatable {
        case ipc
        case tcp(advertised: String)
    }

    let transport: Transport
    let bindRequest: String
    let bindPublish: String

    init(_ configuration: BusConfiguration) throws(BusError) {
        let prefix = configuration.urlPrefix
        for (name, value) in [
            ("service", configuration.service), ("INSTANCE_ID", configuration.instance),
        ] {
            guard Wire.isName(value) else {
                throw .configuration(
                    "\(name) \"\(value)\" must be 1 to \(Wire.nameBytes) letters, digits, "
                        + "\".\", \"_\" or \"-\""
                )
            }
        }
        if prefix.hasPrefix("ipc://") {
            transport = .ipc
            bindRequest = prefix + configuration.instance + ".req"
            bindPublish = prefix + configuration.instance + ".pub"
            let path = bindRequest.dropFirst("ipc://".count)
            guard path.hasPrefix("/") else {
                throw .configuration("BUS_URL_PREFIX \"\(prefix)\" must name an absolute folder")
            }
            guard path.utf8.count <= BusLimits.socketPathBytes else {
                throw .configuration(
                    "BUS_URL_PREFIX \"\(prefix)\" makes a socket path of \(path.utf8.count) bytes; "
                        + "the system takes at most \(BusLimits.socketPathBytes)"
                )
            }
        } else if prefix.hasPrefix("tcp://") {
            guard configuration.curve != nil else {
                throw .configuration(
                    "BUS_URL_PREFIX \"\(prefix)\" needs the fleet's key pair in BUS_CURVE_PUBLIC_KEY "
                        + "and BUS_CURVE_SECRET_KEY: tcp is never plain"
                )
            }
            (transport, bindRequest, bindPublish) = try Self.tcp(prefix, configuration)
        } else {
            throw .configuration("BUS_URL_PREFIX \"\(prefix)\" must begin with ipc:/// or tcp://")
        }
    }

    private static func tcp(
        _ prefix: String,
        _ configuration: BusConfiguration
    ) throws(BusError) -> (Transport, String, String) {
        let rest = prefix.dropFirst("tcp://".count)
        guard let colon = rest.lastIndex(of: ":"), colon != rest.startIndex else {
            throw .configuration(
                "BUS_URL_PREFIX \"\(prefix)\" must be tcp://HOST: or tcp://HOST:PORT"
            )
        }
        let host = String(rest[..<colon])
        let port = rest[rest.index(after: colon)...]
        let everywhere = host == "0.0.0.0" || host == "*" || host == "[::]"
        let advertised = configuration.advertiseHost ?? (everywhere ? "" : host)
        guard !advertised.isEmpty else {
            throw .configuration(
                "BUS_URL_PREFIX \"\(prefix)\" listens on every address, so BUS_ADVERTISE_HOST must "
                    + "name the one that others connect to"
            )
        }
        if port.isEmpty {
            return (.tcp(advertised: advertised), "tcp://\(host):*", "tcp://\(host):*")
        }
        guard let first = UInt16(port), (1..<65_535).contains(first) else {
            throw .configuration("BUS_URL_PREFIX \"\(prefix)\" needs a port from 1 to 65534")
        }
        return (
            .tcp(advertised: advertised), "tcp://\(host):\(first)", "tcp://\(host):\(first + 1)"
        )
    }

    /// What others connect to, from what libzmq says it bound (`tcp://0.0.0.0:43210`).
    func advertised(bound: String) -> String {
        guard case .tcp(let host) = transport, let colon = bound.lastIndex(of: ":") else {
            return bound
        }
        return "tcp://\(host)\(bound[colon...])"
    }
}
