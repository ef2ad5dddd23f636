internal import CLinux
internal import Glibc
internal import Telemetry
internal import Web

/// Reading what clients send.
extension RelayLoop {
    func take(_ event: Poll.Event, _ connection: Connection) {
        guard !connection.isDead else { return }
        if event.isBroken || (event.isHalfClosed && !connection.reads) { return vanish(connection) }
        if event.isReadable {
            if connection.closing != nil { drain(connection) } else { read(connection) }
        }
        if event.isWritable, !connection.isDead { flush(connection) }
    }

    func read(_ connection: Connection) {
        for _ in 0..<Self.readsPerTurn {
            let count = recv(connection.descriptor, readBuffer.baseAddress, Self.readBytes, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return vanish(connection) }
            connection.readAt = now.milliseconds
            process(UnsafeRawBufferPointer(rebasing: readBuffer[..<count]), connection)
            guard connection.closing == nil, !connection.isDead else { return }
            guard connection.session.isReading else { return watch(connection, reads: false) }
            if count < Self.readBytes { return }
        }
    }

    func process(_ bytes: UnsafeRawBufferPointer, _ connection: Connection) {
        let reading = connection.reader.read(bytes, with: spares)
        if reading.oversize > 0 { metrics.dropped(.oversize, reading.oversize) }
        if reading.binaries > 0 { metrics.dropped(.binary, reading.binaries) }
        if reading.pongs > 0 { connection.unansweredPings = 0 }
        for message in reading.messages {
            if connection.inbox.isEmpty, connection.session.isReading {
                receive(message, connection)
            } else {
                connection.inbox.append(message)
            }
        }
        pump(connection)
        if reading.end != nil {
            core.vanished(connection.session)
            return beginClose(connection, reading.replies)
        }
        if !reading.replies.isEmpty { core.send(reading.replies, to: connection.session) }
        account(unfinished: connection)
    }

    func account(unfinished connection: Connection) {
        let held = connection.reader.heldBytes
        unfinishedBytes += held - connection.unfinishedBytes
        connection.unfinishedBytes = held
        connection.incompleteSince = held == 0 ? nil : connection.incompleteSince ?? now.uptime
        if unfinishedBytes > limits.unfinishedBytes, held > 0 {
            core.close(connection.session, .fault)
        }
    }

    /// Looks at the messages that came, as far as they need not wait.
    func pump(_ connection: Connection) {
        while connection.session.isReading, let message = connection.inbox.popFirst() {
            receive(message, connection)
            if connection.inbox.isEmpty { connection.inbox = [] }
        }
    }

    private func receive(_ message: [UInt8], _ connection: Connection) {
        core.receive(
            message,
            from: connection.session,
            readAt: connection.readAt,
            at: now,
            claims: outside.claims
        )
    }

    func resume(_ connection: Connection) {
        guard connection.closing == nil, !connection.isDead else { return }
        if !connection.early.isEmpty {
            let early = connection.early
            connection.early = []
            early.withUnsafeBytes { process($0, connection) }
        } else {
            pump(connection)
        }
        guard connection.closing == nil, connection.session.isReading else { return }
        watch(connection, reads: true)
    }

    /// Reads on and forgets it: the client may still send before it sees our close.
    func drain(_ connection: Connection) {
        for _ in 0..<Self.readsPerTurn {
            let count = recv(connection.descriptor, readBuffer.baseAddress, Self.readBytes, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return kill(connection) }
        }
    }
}
