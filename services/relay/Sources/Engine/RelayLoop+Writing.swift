internal import CLinux
internal import Glibc
internal import Telemetry
internal import Web

/// Writing what waits for clients, and closing.
extension RelayLoop {
    func flush(_ connection: Connection) {
        guard !connection.isDead else { return }
        defer { frames.removeAll(keepingCapacity: true) }
        while connection.partial != nil || !connection.session.outbox.isEmpty {
            frames.removeAll(keepingCapacity: true)
            connection.session.outbox.next(Self.framesPerWrite, &composer, into: &frames)
            let (wanted, sent) = write(frames, connection)
            if sent < 0 {
                guard errno == EAGAIN || errno == EINTR else { return vanish(connection) }
                return wait(connection, hasProgress: false)
            }
            advance(connection, frames, by: sent)
            if sent < wanted { return wait(connection, hasProgress: true) }
        }
        connection.stuckSince = nil
        account(queued: 0, connection)
        watch(connection, writes: false)
        shutIfClosing(connection)
    }

    /// Writes what is left of a frame, then others.
    ///
    /// - Returns: How many bytes there were, and how many the kernel took; -1 with `errno`.
    func write(_ frames: [Outbox.Ready], _ connection: Connection) -> (wanted: Int, sent: Int) {
        if connection.partial == nil, frames.count == 1 {
            return frames[0].bytes.withUnsafeBytes { ($0.count, Self.send(connection, $0)) }
        }
        writeBuffer.removeAll(keepingCapacity: true)
        if let (bytes, offset) = connection.partial { writeBuffer += bytes[offset...] }
        for frame in frames where writeBuffer.count < Self.bytesPerWrite {
            writeBuffer += frame.bytes
        }
        return writeBuffer.withUnsafeBytes { ($0.count, Self.send(connection, $0)) }
    }

    static func send(_ connection: Connection, _ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(connection.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Takes what was sent out of the outbox; a frame that has begun has to be ended.
    func advance(_ connection: Connection, _ frames: [Outbox.Ready], by sent: Int) {
        var rest = sent
        metrics.bytesSent.add(sent)
        if let (bytes, offset) = connection.partial {
            let left = bytes.count - offset
            guard rest >= left else {
                connection.partial = (bytes, offset + rest)
                return
            }
            rest -= left
            connection.partial = nil
        }
        var (whole, positions) = (0, 0)
        while rest > 0, whole < frames.count {
            let count = frames[whole].bytes.count
            if rest < count { connection.partial = (frames[whole].bytes, rest) }
            positions += frames[whole].positions
            rest -= min(rest, count)
            whole += 1
        }
        guard whole > 0 else { return }
        metrics.framesSent.add(whole)
        connection.session.outbox.drop(whole)
        if positions > 0 {
            metrics.positionsSent.add(positions)
            hasSentPositions = true
        }
    }

    func wait(_ connection: Connection, hasProgress: Bool) {
        connection.stuckSince = hasProgress ? now.uptime : connection.stuckSince ?? now.uptime
        watch(connection, writes: true)
        let outbox = connection.session.outbox
        let partial = connection.partial.map { $0.bytes.count - $0.offset } ?? 0
        account(
            queued: partial + outbox.frameBytes + outbox.positionCount
                * MemoryLayout<Position>.stride,
            connection
        )
        if queuedBytes > limits.queuedBytes { core.close(connection.session, .tooSlow) }
    }

    func account(queued bytes: Int, _ connection: Connection) {
        queuedBytes += bytes - connection.queuedBytes
        connection.queuedBytes = bytes
    }

    func watch(_ connection: Connection, reads: Bool? = nil, writes: Bool? = nil) {
        let (reads, writes) = (reads ?? connection.reads, writes ?? connection.writes)
        guard reads != connection.reads || writes != connection.writes else { return }
        connection.reads = reads
        connection.writes = writes
        poll.change(connection.descriptor, reads: reads, writes: writes)
    }

    // MARK: - Closing

    /// Says the last word; what waited before is not sent any more.
    func beginClose(_ connection: Connection, _ lastWord: [UInt8]) {
        guard connection.closing == nil, !connection.isDead else { return }
        connection.closing = Connection.Closing(
            deadline: now.uptime + limits.closeLimit.nanoseconds
        )
        connection.inbox = []
        connection.session.outbox.removeAll()
        if !lastWord.isEmpty { connection.session.outbox.add(Outbox.Frame(bytes: lastWord)) }
        watch(connection, reads: true)
        flush(connection)
    }

    func shutIfClosing(_ connection: Connection) {
        guard connection.closing?.isShut == false else { return }
        connection.closing?.isShut = true
        _ = shutdown(connection.descriptor, Int32(SHUT_WR))
    }

    /// Closes a socket that no thread takes.
    static func close(_ socket: UpgradedSocket) { _ = Glibc.close(socket.descriptor) }

    /// The client is gone.
    func vanish(_ connection: Connection) {
        core.vanished(connection.session)
        kill(connection)
    }

    func kill(_ connection: Connection) {
        guard !connection.isDead else { return }
        connection.isDead = true
        account(queued: 0, connection)
        unfinishedBytes -= connection.unfinishedBytes
        connection.unfinishedBytes = 0
        poll.remove(connection.descriptor)
        connections[connection.descriptor] = nil
        connection.session.outbox.removeAll()
        dead.append(connection)
    }
}
