internal import CCurl
internal import Synchronization

/// An HTTP client on libcurl, for pollers and simulators.
///
/// One thread drives all requests and keeps connections open for the next ones. A redirect is an
/// answer like others unless the request's limits say otherwise. Conditional requests are the
/// caller's: send `If-None-Match` and expect a 304.
public final class HTTPClient: Sendable {
    private let worker: ClientWorker

    /// Makes a client and starts its thread, which ends with ``close()`` or the last reference.
    public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        worker = ClientWorker(configuration)
    }

    deinit { worker.close() }

    /// Fetches a URL.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - headers: More headers.
    ///   - limits: How much the request may take.
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``HTTPClientError`` when there is no whole answer.
    public func get(
        _ url: String,
        headers: [(String, String)] = [],
        limits: HTTPClientLimits = HTTPClientLimits()
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        try await send(.get, url, headers: headers, limits: limits)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - url: An `http` or `https` URL.
    ///   - headers: More headers; name the type of the body there.
    ///   - body: The body of POST, PUT, PATCH and DELETE.
    ///   - limits: How much the request may take.
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``HTTPClientError`` when there is no whole answer.
    public func send(
        _ method: HTTPMethod,
        _ url: String,
        headers: [(String, String)] = [],
        body: [UInt8] = [],
        limits: HTTPClientLimits = HTTPClientLimits()
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        let started = Mutex<Transfer?>(nil)
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let transfer = Transfer(
                        url: url,
                        method: method,
                        headers: headers,
                        body: body,
                        limits: limits,
                        continuation: continuation
                    )
                    started.withLock { $0 = transfer }
                    if Task.isCancelled { transfer.isCancelled.store(true, ordering: .relaxed) }
                    if let error = worker.enqueue(transfer) { transfer.fail(error) }
                }
            } onCancel: {
                guard let transfer = started.withLock({ $0 }) else { return }
                transfer.isCancelled.store(true, ordering: .relaxed)
                worker.wake()
            }
        } catch let error as HTTPClientError {
            throw error
        } catch {
            throw .failed(String(describing: error))
        }
    }

    /// Ends every request with `.closed` and the client's thread.
    public func close() { worker.close() }
}

/// The thread that owns libcurl's handles.
private final class ClientWorker: Sendable {
    private struct Handle: @unchecked Sendable {
        // libcurl allows curl_multi_wakeup from any thread; all else stays on ours. Freed under
        // the lock that guards it.
        let pointer: UnsafeMutableRawPointer
    }

    private struct State {
        var multi: Handle?
        var queue: [Transfer] = []
        var isClosed = false
    }

    /// How long the thread sleeps without news; a wake-up ends it.
    private static let pollMilliseconds: Int32 = 10_000

    private let configuration: HTTPClientConfiguration
    private let state: Mutex<State>

    init(_ configuration: HTTPClientConfiguration) {
        self.configuration = configuration
        _ = globalInitialisation
        guard let pointer = curl_multi_init() else {
            preconditionFailure("libcurl has no memory")
        }
        let multi = Handle(pointer: pointer)
        state = Mutex(State(multi: multi))
        BackgroundThread.start { [self] in run(multi: multi) }
    }

    /// Hands a request to the thread.
    ///
    /// - Returns: Why it cannot be taken, or nil.
    func enqueue(_ transfer: Transfer) -> HTTPClientError? {
        let error: HTTPClientError? = state.withLock { state in
            if state.isClosed { return .closed }
            guard state.queue.count < configuration.maximumQueued else { return .busy }
            state.queue.append(transfer)
            return nil
        }
        if error == nil { wake() }
        return error
    }

    func wake() {
        state.withLock { state in
            if let multi = state.multi { curl_multi_wakeup(multi.pointer) }
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        wake()
    }

    private func run(multi: Handle) {
        var running: [UnsafeMutableRawPointer: Transfer] = [:]
        while !state.withLock({ $0.isClosed }) {
            start(multi.pointer, &running)
            var active: Int32 = 0
            curl_multi_perform(multi.pointer, &active)
            finish(multi.pointer, &running)
            cancel(multi.pointer, &running)
            guard !hasRoom(running.count) else { continue }
            curl_multi_poll(multi.pointer, nil, 0, Self.pollMilliseconds, nil)
        }
        for (easy, transfer) in running {
            remove(easy, from: multi.pointer)
            transfer.fail(.closed)
        }
        let rest = state.withLock { state in
            state.multi = nil
            defer { state.queue = [] }
            return state.queue
        }
        for transfer in rest { transfer.fail(.closed) }
        curl_multi_cleanup(multi.pointer)
    }

    private func hasRoom(_ running: Int) -> Bool {
        running < configuration.maximumConcurrent && state.withLock { !$0.queue.isEmpty }
    }

    private func start(
        _ multi: UnsafeMutableRawPointer,
        _ running: inout [UnsafeMutableRawPointer: Transfer]
    ) {
        let room = configuration.maximumConcurrent - running.count
        let next = state.withLock { state in
            let next = Array(state.queue.prefix(room))
            state.queue.removeFirst(next.count)
            return next
        }
        for transfer in next {
            guard let easy = curl_easy_init() else {
                transfer.fail(.failed("libcurl has no memory"))
                continue
            }
            guard transfer.begin(easy, configuration) else {
                curl_easy_cleanup(easy)
                transfer.fail(.invalidURL)
                continue
            }
            running[easy] = transfer
            curl_multi_add_handle(multi, easy)
        }
    }

    private func finish(
        _ multi: UnsafeMutableRawPointer,
        _ running: inout [UnsafeMutableRawPointer: Transfer]
    ) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = running.removeValue(forKey: easy)
            else { continue }
            let result = alongside_curl_result(message)
            transfer.end(result)
            remove(easy, from: multi)
        }
    }

    private func cancel(
        _ multi: UnsafeMutableRawPointer,
        _ running: inout [UnsafeMutableRawPointer: Transfer]
    ) {
        for (easy, transfer) in running where transfer.isCancelled.load(ordering: .relaxed) {
            running[easy] = nil
            remove(easy, from: multi)
            transfer.fail(.cancelled)
        }
    }

    private func remove(_ easy: UnsafeMutableRawPointer, from multi: UnsafeMutableRawPointer) {
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
    }
}

/// libcurl's once-per-process start, which is not safe to run twice at once.
let globalInitialisation: Bool = {
    curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}()
