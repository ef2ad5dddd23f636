internal import CLinux
internal import Synchronization
internal import Telemetry

/// What a caller of a request waits on.
typealias Waiter = CheckedContinuation<Result<[UInt8], BusError>, Never>

/// What other threads ask of the bus thread.
enum BusCommand {
    case request(PendingRequest, Waiter)
    case cancel(UInt64)
    case answer(ReceivedRequest, [UInt8])
    case subscribe(Subscription)
    case instances([InstanceRecord])
    case stop(drain: Duration, CheckedContinuation<Void, Never>?)
}

/// One call of ``Bus/subscribe(topic:of:_:)``.
struct Subscription {
    let service: String
    let topic: String
    let receive: @Sendable (BusPublication) -> Void
}

/// The one way into the bus thread: a bounded queue and an eventfd that wakes it.
///
/// The eventfd is written only when the queue turns from empty to not empty.
final class BusMailbox: Sendable {
    struct Delivery {
        var commands: [BusCommand] = []
        var publications: [Publication] = []
    }

    private struct Window {
        var requests = 0
        var bytes = 0
    }

    private struct StateKey: Hashable {
        let topic: String
        let key: String
    }

    private struct State {
        var isSignaled = false
        var acceptsRequests = false
        var hasEnded = false
        var delivery = Delivery()
        /// Where a retained state waits in `delivery.publications`, to be overtaken by a newer one.
        var waitingStates: [StateKey: Int] = [:]
        /// Bytes of the bodies in `delivery.publications`.
        var waitingBytes = 0
        var windows: [String: Window] = [:]
        var records: [String: InstanceRecord] = [:]
    }

    let wake: Int32
    private let limits: BusLimits
    private let state = Mutex(State())

    init(limits: BusLimits) throws(BusError) {
        self.limits = limits
        wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wake >= 0 else {
            throw .system(operation: "eventfd", code: alongside_errno(), sentence: "no descriptor")
        }
    }

    deinit { _ = CLinux.close(wake) }

    // MARK: - From any thread

    /// Queues a request unless a limit or the state of the bus forbids it.
    ///
    /// - Returns: Why it was not queued, or nil.
    func submit(_ request: PendingRequest, _ waiter: Waiter) -> BusError? {
        state.withLock { state in
            guard state.acceptsRequests else { return .closed }
            guard state.records[request.instance] != nil else {
                return .unknownInstance(request.instance)
            }
            var window = state.windows[request.instance] ?? Window()
            guard window.requests < limits.windowRequests,
                window.bytes + request.body.count <= limits.windowBytes
            else { return .full(request.instance) }
            window.requests += 1
            window.bytes += request.body.count
            state.windows[request.instance] = window
            append(.request(request, waiter), &state)
            return nil
        }
    }

    /// Queues a command.
    ///
    /// - Returns: false when the bus thread has ended.
    @discardableResult
    func post(_ command: BusCommand) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            append(command, &state)
            return true
        }
    }

    /// Queues a publication; a retained state that still waits is overtaken by its newer body.
    ///
    /// - Returns: false when too many or too large ones wait, or the bus has ended.
    func publish(_ publication: Publication) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            let key = StateKey(topic: publication.topic, key: publication.key)
            if publication.kind == .retained, let index = state.waitingStates[key] {
                let overtaken = state.delivery.publications[index].body.count
                let bytes = state.waitingBytes - overtaken + publication.body.count
                guard bytes <= limits.queuedPublicationBytes else { return false }
                state.waitingBytes = bytes
                state.delivery.publications[index] = publication
                return true
            }
            let count = state.delivery.publications.count
            let bytes = state.waitingBytes + publication.body.count
            guard count < limits.queuedPublications, bytes <= limits.queuedPublicationBytes else {
                return false
            }
            state.waitingBytes = bytes
            // What comes after a retraction does not overtake it.
            state.waitingStates[key] = publication.kind == .retained ? count : nil
            state.delivery.publications.append(publication)
            signal(&state)
            return true
        }
    }

    /// Takes the directory's view: what `request` and `instances(of:)` go by.
    func learn(_ records: [InstanceRecord]) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.records = Dictionary(
                records.map { ($0.instance, $0) },
                uniquingKeysWith: { first, _ in first }
            )
            append(.instances(Array(state.records.values)), &state)
        }
    }

    /// The known instances of a service, in the order of their names.
    func instances(of service: String) -> [String] {
        state.withLock { state in
            state.records.values.filter { $0.service == service }.map(\.instance).sorted()
        }
    }

    /// Lets requests in, or keeps them out.
    func acceptRequests(_ accept: Bool) { state.withLock { $0.acceptsRequests = accept } }

    // MARK: - From the bus thread

    /// Takes everything that waits.
    func takeAll() -> Delivery {
        var count: UInt64 = 0
        _ = CLinux.read(wake, &count, 8)
        return state.withLock { state in
            state.isSignaled = false
            defer {
                state.delivery = Delivery()
                state.waitingBytes = 0
                state.waitingStates.removeAll(keepingCapacity: true)
            }
            return state.delivery
        }
    }

    /// Makes room in the windows of finished requests.
    func release(_ finished: [PendingRequest]) {
        state.withLock { state in
            for request in finished {
                guard var window = state.windows[request.instance] else { continue }
                window.requests -= 1
                window.bytes -= request.body.count
                state.windows[request.instance] = window.requests > 0 ? window : nil
            }
        }
    }

    /// Refuses everything from now on.
    ///
    /// - Returns: What was queued and will not be done.
    func end() -> Delivery {
        state.withLock { state in
            state.hasEnded = true
            state.acceptsRequests = false
            state.records = [:]
            defer { state.delivery = Delivery() }
            return state.delivery
        }
    }

    private func append(_ command: consuming BusCommand, _ state: inout State) {
        state.delivery.commands.append(command)
        signal(&state)
    }

    private func signal(_ state: inout State) {
        guard !state.isSignaled else { return }
        state.isSignaled = true
        var one: UInt64 = 1
        _ = CLinux.write(wake, &one, 8)
    }
}
