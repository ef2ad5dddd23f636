internal import CZeroMQ
internal import Telemetry

/// Decides who may connect over tcp: only holders of the fleet's key (ZAP, ZeroMQ RFC 27).
///
/// Without it libzmq would let in every client that knows the server's public key.
final class CurveGate {
    let socket: Socket
    private let publicKey: [UInt8]

    /// Must exist before any socket binds.
    init(_ context: SocketContext, _ keys: CurveKeys) throws(BusError) {
        publicKey = keys.publicBytes
        socket = try Socket(context, ZMQ_REP)
        try socket.set(ZMQ_LINGER, 0)
        _ = try socket.bind("inproc://zeromq.zap.01")
    }

    /// Answers one question of libzmq.
    ///
    /// - Returns: Whether the connection was let in; nil when there was no question.
    func decideNext() -> Bool? {
        guard let frames = socket.receive() else { return nil }
        // version, request id, domain, address, identity, mechanism, client key
        let isAllowed =
            frames.count == 7 && frames[0] == Array("1.0".utf8) && frames[5] == Array("CURVE".utf8)
            && frames[6] == publicKey
        let status = isAllowed ? "200" : "400"
        _ = socket.send(
            Array("1.0".utf8),
            frames.count > 1 ? frames[1] : [],
            Array(status.utf8),
            Array((isAllowed ? "" : "not of this fleet").utf8),
            Array((isAllowed ? "fleet" : "").utf8),
            []
        )
        return isAllowed
    }
}

extension BusLoop {
    func serveGate() {
        while let isAllowed = gate?.decideNext() {
            guard !isAllowed else { continue }
            metrics.connectionsRefused.add()
            logger.warning("refused a connection without the fleet's key")
        }
    }
}

extension Socket {
    /// Makes this a CURVE server whose clients the gate decides on.
    func serve(_ keys: CurveKeys) throws(BusError) {
        try set(ZMQ_CURVE_SERVER, 1)
        try set(ZMQ_CURVE_SECRETKEY, keys.secretKey)
        try set(ZMQ_ZAP_DOMAIN, "alongside")
    }

    /// Makes this a CURVE client where the endpoint is tcp.
    func identify(_ keys: CurveKeys?, for endpoint: String) throws(BusError) {
        guard !endpoint.hasPrefix("ipc://") else { return }
        guard let keys else {
            throw .configuration(
                "\(endpoint) needs the fleet's key pair in BUS_CURVE_PUBLIC_KEY and "
                    + "BUS_CURVE_SECRET_KEY: tcp is never plain"
            )
        }
        try set(ZMQ_CURVE_SERVERKEY, keys.publicKey)
        try set(ZMQ_CURVE_PUBLICKEY, keys.publicKey)
        try set(ZMQ_CURVE_SECRETKEY, keys.secretKey)
    }
}
