internal import CLinux
internal import Glibc

/// Wakes the relay's thread (Linux eventfd).
final class WakeDescriptor: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "the system has no file descriptor left for an eventfd")
    }

    deinit { _ = Glibc.close(descriptor) }

    func signal() {
        var one: UInt64 = 1
        _ = Glibc.write(descriptor, &one, 8)
    }

    func drain() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }
}

/// The descriptors that one thread waits for (Linux epoll, level-triggered).
final class Poll {
    struct Event {
        let descriptor: Int32
        let events: UInt32

        var isReadable: Bool { events & EPOLLIN.rawValue != 0 }
        var isWritable: Bool { events & EPOLLOUT.rawValue != 0 }
        /// The peer sends nothing more.
        var isHalfClosed: Bool { events & EPOLLRDHUP.rawValue != 0 }
        var isBroken: Bool { events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 }
    }

    /// Events of one turn.
    private static let capacity = 512

    /// What the last wait brought.
    private(set) var events: [Event] = []

    private let descriptor: Int32
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: Poll.capacity)

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(descriptor >= 0, "the system has no file descriptor left for an epoll")
        buffer.initialize(repeating: epoll_event(), count: Self.capacity)
    }

    deinit {
        _ = Glibc.close(descriptor)
        buffer.deinitialize(count: Self.capacity)
        buffer.deallocate()
    }

    /// Watches a descriptor.
    ///
    /// - Returns: false when the system refuses it.
    func add(_ target: Int32, reads: Bool, writes: Bool) -> Bool {
        control(EPOLL_CTL_ADD, target, reads, writes)
    }

    func change(_ target: Int32, reads: Bool, writes: Bool) {
        _ = control(EPOLL_CTL_MOD, target, reads, writes)
    }

    func remove(_ target: Int32) { _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, target, nil) }

    /// Waits for ``events``.
    func wait(milliseconds: Int32) {
        let count = epoll_wait(descriptor, buffer, Int32(Self.capacity), milliseconds)
        events.removeAll(keepingCapacity: true)
        for index in 0..<max(0, Int(count)) {
            events.append(Event(descriptor: buffer[index].data.fd, events: buffer[index].events))
        }
    }

    private func control(_ operation: Int32, _ target: Int32, _ reads: Bool, _ writes: Bool) -> Bool
    {
        var event = epoll_event()
        event.events =
            EPOLLRDHUP.rawValue | (reads ? EPOLLIN.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
        event.data.fd = target
        return epoll_ctl(descriptor, operation, target, &event) == 0
    }
}

/// Runs a closure on a thread of its own, with every signal blocked.
func startRelayThread(_ body: sending @escaping () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let failure = pthread_create(&thread, nil, runThreadBody, box.toOpaque())
    precondition(failure == 0, "the system refuses another thread (error \(failure))")
    pthread_detach(thread)
}

private final class ThreadBody {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
}

private func runThreadBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
