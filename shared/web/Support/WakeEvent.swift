internal import CMicrohttpd

/// Wakes one waiting thread from any other (Linux eventfd).
final class WakeEvent: Sendable {
    private let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "the system has no file descriptor left for an eventfd")
    }

    deinit { _ = close(descriptor) }

    /// Ends the current or the next ``wait(milliseconds:)``.
    func signal() { _ = eventfd_write(descriptor, 1) }

    /// Waits for a signal or for the time to pass; -1 waits without limit.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
        var count: eventfd_t = 0
        _ = eventfd_read(descriptor, &count)
    }
}
