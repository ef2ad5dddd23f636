import Dispatch
import Foundation
import Glibc
import Synchronization
import TestKit
import Transit
import Web

/// A client of the live protocol, written for the tests: a thread reads, everyone may send.
final class LiveClient: Sendable {
    private struct State {
        var frames: [JSON] = []
        var closeCode: Int?
        var isClosed = false
        var pings = 0
        var pongs: Set<[UInt8]> = []
        var isPaused = false
    }

    private let descriptor: Int32
    /// Held while the descriptor is used, so that it is never somebody else's; false once it is closed.
    private let isUsable = Mutex(true)
    private let state = Mutex(State())
    /// Told when reading goes on.
    private let resumption = DispatchSemaphore(value: 0)
    private let answersPings: Bool

    /// Opens a socket.
    ///
    /// - Throws: ``Refused`` with the status of any other answer than 101.
    init(
        port: Int,
        token: String?,
        answersPings: Bool = true,
        receiveBuffer: Int32? = nil
    ) async throws {
        self.answersPings = answersPings
        let (descriptor, status) = try await Self.offPool {
            try Self.open(port: port, token: token, receiveBuffer: receiveBuffer)
        }
        self.descriptor = descriptor
        guard status == 101 else {
            Glibc.close(descriptor)
            throw Refused(status: status)
        }
        Thread.detachNewThread { self.readFrames() }
    }

    /// An answer other than 101.
    struct Refused: Error { let status: Int }

    // MARK: - Sending

    func send(_ text: String) { send(opcode: 1, Array(text.utf8)) }

    /// Sends a frame with a mask.
    func send(opcode: UInt8, _ payload: [UInt8], fin: Bool = true) {
        sendRaw(WebSocketBytes.frame(opcode, payload, fin: fin))
    }

    func sendRaw(_ bytes: [UInt8]) {
        isUsable.withLock { isUsable in
            var rest = bytes[...]
            while isUsable, !rest.isEmpty {
                let sent = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
        }
    }

    func join(_ group: String) { send("{\"type\":\"join\",\"groupId\":\"\(group)\"}") }

    func locate(_ latitude: Double) {
        send("{\"type\":\"location\",\"lat\":\(latitude),\"lon\":8}")
    }

    func vote(_ group: String, _ index: Int = 1) {
        send("{\"type\":\"spin_vote\",\"groupId\":\"\(group)\",\"index\":\(index)}")
    }

    func offer(
        _ group: String,
        _ candidates: String = "[{\"lat\":1,\"lon\":2},{\"lat\":3,\"lon\":4}]"
    ) {
        send("{\"type\":\"spin_offer\",\"groupId\":\"\(group)\",\"candidates\":\(candidates)}")
    }

    /// Sends nothing any more, and goes on reading.
    func endSending() {
        isUsable.withLock { isUsable in
            if isUsable { shutdown(descriptor, Int32(SHUT_WR)) }
        }
    }

    /// Ends the connection without a word.
    func abort() {
        isUsable.withLock { isUsable in
            guard isUsable else { return }
            var linger = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout.size(ofValue: linger))
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, size)
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    // MARK: - Receiving

    /// Reads nothing any more, or reads on.
    func setPaused(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
        resumption.signal()
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
    var closeCode: Int? { state.withLock { $0.closeCode } }
    var pings: Int { state.withLock { $0.pings } }
    /// What was received and not taken.
    var frames: [JSON] { state.withLock { $0.frames } }

    /// Takes what was received.
    func take() -> [JSON] {
        state.withLock { state in
            defer { state.frames = [] }
            return state.frames
        }
    }

    /// Waits for the next frame of a type; what came before it is dropped.
    @discardableResult
    func next(_ type: String, where isWanted: (JSON) -> Bool = { _ in true }) async throws -> JSON {
        var found: JSON?
        try await eventually("a frame \(type)") {
            found = state.withLock { state in
                guard
                    let index = state.frames.firstIndex(where: { $0.type == type && isWanted($0) })
                else {
                    return nil
                }
                defer { state.frames.removeFirst(index + 1) }
                return state.frames[index]
            }
            if found == nil, isClosed {
                throw Late("a frame \(type) before the close \(closeCode ?? 0)")
            }
            return found != nil
        }
        return found ?? JSON("null")
    }

    /// Waits for a position of someone.
    @discardableResult
    func position(of person: Traveller, at latitude: Double? = nil) async throws -> JSON {
        let frame = try await next("positions") { frame in
            frame["peers"].array.contains {
                $0["u"].id == person.id && (latitude == nil || $0["lat"].double == latitude)
            }
        }
        return frame["peers"].array.first { $0["u"].id == person.id } ?? JSON("null")
    }

    /// Returns when everything that waited for this client has come.
    func roundTrip() async throws {
        let mark = Array("\(UInt64.random(in: 0 ... .max))".utf8)
        send(opcode: 9, mark)
        try await eventually("a pong") {
            if isClosed { throw Late("a pong before the close \(closeCode ?? 0)") }
            return state.withLock { $0.pongs.remove(mark) != nil }
        }
    }

    /// Waits for the close; its code.
    func close() async throws -> Int? {
        try await eventually("the close") { isClosed }
        return closeCode
    }

    // MARK: - Details

    private func readFrames() {
        while let (opcode, payload) = readFrame() {
            switch opcode {
            case 1: state.withLock { $0.frames.append(JSON(payload)) }
            case 8:
                let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
                state.withLock { $0.closeCode = code }
            case 9:
                state.withLock { $0.pings += 1 }
                if answersPings { send(opcode: 10, payload) }
            case 10: state.withLock { _ = $0.pongs.insert(payload) }
            default: break
            }
        }
        state.withLock { $0.isClosed = true }
        isUsable.withLock { isUsable in
            isUsable = false
            Glibc.close(descriptor)
        }
    }

    private func readFrame() -> (UInt8, [UInt8])? {
        while state.withLock({ $0.isPaused }) { resumption.wait() }
        guard let head = Self.read(descriptor, 2) else { return nil }
        var count = Int(head[1] & 0x7F)
        if count >= 126 {
            guard let more = Self.read(descriptor, count == 126 ? 2 : 8) else { return nil }
            count = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = Self.read(descriptor, count) else { return nil }
        return (head[0] & 0x0F, payload)
    }

    private static func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes[filled...].withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            if received < 0, errno == EINTR { continue }
            guard received > 0 else { return nil }
            filled += received
        }
        return bytes
    }

    private static func open(
        port: Int,
        token: String?,
        receiveBuffer: Int32?
    ) throws -> (Int32, Int) {
        let descriptor = try ask(port: port, token: token, receiveBuffer: receiveBuffer)
        return (descriptor, try answer(descriptor))
    }

    /// Connects and asks for an upgrade.
    static func ask(port: Int, token: String?, receiveBuffer: Int32? = nil) throws -> Int32 {
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        if var size = receiveBuffer {
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVBUF,
                &size,
                socklen_t(MemoryLayout<Int32>.size)
            )
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failed = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard failed == 0 else {
            Glibc.close(descriptor)
            throw Refused(status: 0)
        }
        var request =
            "GET /api/live HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        request += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        if let token { request += "Authorization: Bearer \(token)\r\n" }
        let bytes = Array((request + "\r\n").utf8)
        _ = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        return descriptor
    }

    /// Reads the head of the answer; its status.
    static func answer(_ descriptor: Int32) throws -> Int {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard let byte = read(descriptor, 1) else {
                Glibc.close(descriptor)
                throw Refused(status: 0)
            }
            head += byte
        }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ")
        return Int(words[1]) ?? 0
    }

    /// Closes a connection so that the other side gets a reset.
    static func reset(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, size)
        Glibc.close(descriptor)
    }

    static func offPool<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// Frames as clients send them, and what is in those that they get.
enum WebSocketBytes {
    /// The payload of a whole frame of the relay.
    static func payload(_ frame: [UInt8]) -> [UInt8] {
        switch frame[1] {
        case 126: Array(frame[4...])
        case 127: Array(frame[10...])
        default: Array(frame[2...])
        }
    }

    static func frame(_ opcode: UInt8, _ payload: [UInt8], fin: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        var frame: [UInt8] = [(fin ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ...0xFFFF:
            frame += [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        default:
            frame.append(0xFF)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }
}

extension JSON {
    /// The frame's `type`; empty where there is none.
    var type: String { self["type"].string ?? "" }
}
