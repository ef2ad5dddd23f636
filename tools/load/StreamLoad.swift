internal import CLinux
internal import Glibc

/// Many readers of an event stream, some of whom stop reading.
public final class StreamLoad {
    /// What the readers saw.
    public struct Result: Sendable {
        /// For each moment at which something was sent, and each reader in order of it: seconds from the first
        /// byte that any reader got to the last that this one got.
        public let delays: [[Double]]
        /// Bytes that came.
        public let bytes: Int
        /// Readers that were cut off while they read.
        public let lost: Int

        /// For each moment the delay at a share of the readers, in seconds.
        public func delays(at share: Double) -> [Double] {
            delays.map { $0[min($0.count - 1, Int(Double($0.count) * share))] }
        }
    }

    /// Seconds of silence for all readers between what is sent at one moment and at the next.
    private static let silence = 0.2

    private let readers: [Int32]
    private let stalled: [Int32]

    /// Connects.
    ///
    /// - Parameters:
    ///   - port: The server's.
    ///   - path: The stream.
    ///   - reading: How many read.
    ///   - stalled: How many ask and then read nothing.
    /// - Throws: ``LoadFailure`` when a connection cannot be made.
    public init(port: Int, path: String, reading: Int, stalled: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let request = Array("GET \(path) HTTP/1.1\r\nHost: bench\r\n\r\n".utf8)
        func open(_ receiveBuffer: Int32?) throws -> Int32 {
            let descriptor = try LoopbackSocket.connect(port: port, receiveBuffer: receiveBuffer)
            _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
            return descriptor
        }
        readers = try (0..<reading).map { _ in try open(nil) }
        self.stalled = try (0..<stalled).map { _ in try open(4096) }
    }

    deinit { for descriptor in readers + stalled { close(descriptor) } }

    /// Reads for some seconds.
    public func run(for seconds: Double) -> Result {
        let queue = epoll_create1(0)
        defer { close(queue) }
        for (index, descriptor) in readers.enumerated() {
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u32 = UInt32(index)
            epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event)
        }
        var events = [epoll_event](repeating: epoll_event(), count: 1024)
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var last = [Double](repeating: 0, count: readers.count)
        var (begin, newest) = (0.0, 0.0)
        var (bytes, lost) = (0, 0)
        var delays: [[Double]] = []
        func finishMoment() {
            guard begin > 0 else { return }
            delays.append(last.filter { $0 > 0 }.map { $0 - begin }.sorted())
            for index in last.indices { last[index] = 0 }
            begin = 0
        }
        let end = LoadRunner.now + seconds
        while LoadRunner.now < end {
            let count = epoll_wait(queue, &events, Int32(events.count), 50)
            let now = LoadRunner.now
            if begin > 0, now - newest > Self.silence { finishMoment() }
            for event in events.prefix(max(0, Int(count))) {
                let index = Int(event.data.u32)
                let received = recv(readers[index], &buffer, buffer.count, 0)
                guard received > 0 else {
                    epoll_ctl(queue, EPOLL_CTL_DEL, readers[index], nil)
                    lost += 1
                    continue
                }
                bytes += received
                let now = LoadRunner.now
                if begin == 0 { begin = now }
                (last[index], newest) = (now, now)
            }
        }
        finishMoment()
        return Result(delays: delays, bytes: bytes, lost: lost)
    }
}
