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
    ///
    /// - Parameters:
    ///   - milliseconds: How long.
    ///   - other: A descriptor that may end the wait, too; -1 for none.
    ///   - reading: Whether something to read there does.
    ///   - writing: Whether room to write there does.
    func wait(
        milliseconds: Int32,
        or other: Int32 = -1,
        reading: Bool = false,
        writing: Bool = false
    ) {
        let events = (reading ? POLLIN : 0) | (writing ? POLLOUT : 0)
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other, events: Int16(events), revents: 0),
        ]
        _ = poll(&entries, nfds_t(entries.count), milliseconds)
        var count: eventfd_t = 0
        _ = eventfd_read(descriptor, &count)
    }
}
