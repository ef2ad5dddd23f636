internal import CMicrohttpd
internal import Telemetry

// What libmicrohttpd calls, on its loop thread. At file scope: a closure inside a type that is
// bound to an actor would trap there.

private func core(_ context: UnsafeMutableRawPointer?) -> ServerCore? {
    context.map { Unmanaged<ServerCore>.fromOpaque($0).takeUnretainedValue() }
}

private func connectionState(_ connection: OpaquePointer?) -> ConnectionState? {
    guard let connection, let context = alongside_mhd_socket_context(connection) else {
        return nil
    }
    return Unmanaged<ConnectionState>.fromOpaque(context).takeUnretainedValue()
}

/// The callbacks of one daemon.
func makeServerCallbacks(_ core: ServerCore) -> alongside_mhd_callbacks {
    alongside_mhd_callbacks(
        context: Unmanaged.passUnretained(core).toOpaque(),
        request_line: requestLineArrived,
        unescape: leaveEscaped,
        handle: requestProgressed,
        completed: requestCompleted,
        connection: connectionChanged,
        log: libraryLogged
    )
}

/// A request line is there: its raw target is seen only here.
private func requestLineArrived(
    _ context: UnsafeMutableRawPointer?,
    _ uri: UnsafePointer<CChar>?,
    _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let core = core(context), let uri, let state = connectionState(connection) else {
        return nil
    }
    let target = UnsafeBufferPointer(
        start: UnsafeRawPointer(uri).assumingMemoryBound(to: UInt8.self),
        count: strlen(uri)
    )
    let exchange = Exchange(target: Array(target), connection: state)
    state.cut(after: core.configuration.headTimeLimit, from: exchange.startedAt)
    core.registry.began()
    return Unmanaged.passRetained(exchange).toOpaque()
}

/// Paths are split on the raw `/` before each segment is decoded, so the library decodes nothing.
private func leaveEscaped(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ text: UnsafeMutablePointer<CChar>?
) -> Int {
    text.map { strlen($0) } ?? 0
}

private func requestProgressed(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ upload: UnsafePointer<CChar>?,
    _ uploadCount: UnsafeMutablePointer<Int>?,
    _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let core = core(context), let connection, let exchange = requestContext?.pointee else {
        return .NO
    }
    let request = Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue()
    switch request.phase {
    case .head:
        return core.begin(
            request,
            on: connection,
            method: method.map { String(cString: $0) } ?? "",
            version: version.map { String(cString: $0) } ?? ""
        )
    case .body, .discarding:
        if let uploadCount, uploadCount.pointee > 0, let upload {
            let piece = UnsafeBufferPointer(
                start: UnsafeRawPointer(upload).assumingMemoryBound(to: UInt8.self),
                count: uploadCount.pointee
            )
            uploadCount.pointee = 0
            return core.collect(request, piece, on: connection)
        }
        if case .discarding(let response) = request.phase {
            return core.answer(request, on: connection, response)
        }
        return core.dispatch(request, on: connection)
    case .waiting:
        return core.resumed(request, on: connection)
    case .answered:
        return .YES
    case .cut:
        return .NO
    }
}

private func requestCompleted(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let core = core(context), let exchange = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    let request = Unmanaged<Exchange>.fromOpaque(exchange).takeRetainedValue()
    core.end(request, whole: reason == .REQUEST_TERMINATED_COMPLETED_OK)
}

private func connectionChanged(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let core = core(context), let connection, let socketContext else { return }
    if change == .CONNECTION_NOTIFY_STARTED {
        let state = ConnectionState(
            descriptor: alongside_mhd_socket(connection),
            peerAddress: ClientAddress.text(of: alongside_mhd_peer(connection)),
            isSurplus: core.registry.connectionCount >= core.configuration.maximumConnections,
            limit: core.configuration.headTimeLimit
        )
        core.registry.add(state)
        socketContext.pointee = Unmanaged.passRetained(state).toOpaque()
        core.gate.connectionArrived()
    } else if let old = socketContext.pointee {
        socketContext.pointee = nil
        let state = Unmanaged<ConnectionState>.fromOpaque(old).takeRetainedValue()
        core.registry.remove(state)
    }
}

/// The library's own complaints, mostly about what callers send.
private func libraryLogged(
    _ context: UnsafeMutableRawPointer?,
    _ format: UnsafePointer<CChar>?,
    _ arguments: CVaListPointer?
) {
    guard let core = core(context), let format, let arguments, core.logger.level <= .debug else {
        return
    }
    var text = [CChar](repeating: 0, count: 512)
    _ = alongside_mhd_format(&text, text.count, format, arguments)
    let bytes = text.prefix { $0 != 0 && $0 != 0x0A }.map { UInt8(bitPattern: $0) }
    core.logger.debug("http library", ["detail": .text(String(decoding: bytes, as: UTF8.self))])
}

// MARK: - Upgrade

/// The 101 answer; its socket goes to the taker that the exchange holds.
func makeUpgradeResponse(_ answer: UpgradeAnswer) -> PreparedResponse? {
    guard let pointer = MHD_create_response_for_upgrade(socketUpgraded, nil) else { return nil }
    let response = PreparedResponse(adopting: pointer)
    for (name, value) in answer.headers
    where MHD_add_response_header(pointer, name, value).rawValue == 0 {
        return nil
    }
    return response
}

/// The 101 has been sent: a duplicate of the socket is ours, and the library closes its own side,
/// which frees the connection's memory and leaves the stream open.
private func socketUpgraded(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ requestContext: UnsafeMutableRawPointer?,
    _ extra: UnsafePointer<CChar>?,
    _ extraCount: Int,
    _ socket: MHD_socket,
    _ handle: OpaquePointer?
) {
    defer { if let handle { _ = alongside_mhd_close_upgrade(handle) } }
    guard let requestContext else { return }
    let exchange = Unmanaged<Exchange>.fromOpaque(requestContext).takeUnretainedValue()
    guard let accept = exchange.acceptUpgrade else { return }
    let received = UnsafeBufferPointer(
        start: extra.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) },
        count: extra == nil ? 0 : extraCount
    )
    let bytes = Array(received)
    let duplicate = alongside_mhd_duplicate(socket)
    guard duplicate >= 0 else { return }
    var yes: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    _ = setsockopt(duplicate, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
    accept(UpgradedSocket(descriptor: duplicate, receivedBytes: bytes))
}
