import CZeroMQ
import Telemetry
import TestKit

@testable import Bus

/// A DEALER that says whatever a test wants, with whatever keys.
final class RawClient {
    private let context: SocketContext
    private let socket: Socket
    private let monitor: Socket

    /// - Parameters:
    ///   - endpoint: Where a peer answers.
    ///   - server: The fleet's public key, or nil to speak plain.
    ///   - own: The key pair of this client.
    /// - Throws: `BusError` when libzmq refuses.
    init(_ endpoint: String, server: String? = nil, own: CurveKeys? = nil) throws {
        context = try SocketContext()
        socket = try Socket(context, ZMQ_DEALER)
        try socket.set(ZMQ_LINGER, 0)
        if let server, let own {
            try socket.set(ZMQ_CURVE_SERVERKEY, server)
            try socket.set(ZMQ_CURVE_PUBLICKEY, own.publicKey)
            try socket.set(ZMQ_CURVE_SECRETKEY, own.secretKey)
        }
        let refusals =
            ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
            | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED
        zmq_socket_monitor(socket.raw, "inproc://watch", refusals)
        monitor = try Socket(context, ZMQ_PAIR)
        try monitor.set(ZMQ_LINGER, 0)
        try monitor.connect("inproc://watch")
        try socket.connect(endpoint)
    }

    deinit {
        zmq_socket_monitor(socket.raw, nil, 0)
        monitor.close()
        socket.close()
        context.end()
    }

    func send(_ frames: [[UInt8]]) {
        for (index, frame) in frames.enumerated() {
            let more = index + 1 < frames.count ? ZMQ_SNDMORE : 0
            zmq_send(socket.raw, frame, frame.count, more)
        }
    }

    func send(_ header: RequestHeader, _ body: String) {
        send([header.encoded(), Array(body.utf8)])
    }

    /// The next answer, or nil when the server broke the connection before it.
    func answerOrRefusal() async throws -> [[UInt8]]? {
        var answer: [[UInt8]]?
        try await eventually("an answer or a refusal") {
            answer = socket.receive()
            return answer != nil || monitor.receive() != nil
        }
        return answer
    }
}

extension RequestHeader {
    /// A header as a well-behaved sender makes it.
    static func test(
        target: String = "peer-1",
        correlation: UInt64 = 1,
        remaining: UInt32 = 5000
    ) -> RequestHeader {
        RequestHeader(
            correlation: correlation,
            remainingMilliseconds: remaining,
            trace: .random(),
            sender: "raw",
            target: target
        )
    }
}
