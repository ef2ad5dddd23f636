internal import Synchronization
public import Telemetry

/// Runs the parts of a process and stops them in reverse order.
///
/// Parts are started in the order given, which is the order of dependency. On SIGTERM or SIGINT,
/// or when one part ends by itself, they are stopped one after another from the last to the first,
/// each only when the one before it has ended, all within one deadline. A second signal leaves at
/// once with 128 + its number.
public struct ServiceGroup: Sendable {
    /// How long stopping may take before the process leaves without the rest.
    public static let defaultShutdownTimeout = Duration.seconds(10)

    private let services: [any Service]
    private let logger: Logger
    private let shutdownTimeout: Duration
    private let leave: @Sendable (Int32) -> Void

    /// Makes a group.
    ///
    /// - Parameters:
    ///   - services: The parts in the order of dependency.
    ///   - logger: Where starts, stops and the part that ended first are written.
    ///   - shutdownTimeout: The time for stopping all parts.
    ///   - leave: Ends the process on a second signal; replaced in tests.
    public init(
        _ services: [any Service],
        logger: Logger,
        shutdownTimeout: Duration = ServiceGroup.defaultShutdownTimeout,
        leave: @escaping @Sendable (Int32) -> Void = { exitAtOnce($0) }
    ) {
        self.services = services
        self.logger = logger
        self.shutdownTimeout = shutdownTimeout
        self.leave = leave
    }

    /// Runs until every part has ended or the deadline has passed.
    ///
    /// - Parameter stops: Stop requests; each element is the signal's number.
    /// - Returns: The exit code: 0 after a clean stop on request, 1 when a part ended by itself,
    ///   failed while stopping or did not stop in time.
    public func run(stops: AsyncStream<Int32>) async -> Int32 {
        let (events, sink) = AsyncStream<GroupState.Event>.makeStream()
        let listening = Task {
            for await signal in stops { sink.yield(.stopRequested(signal: signal)) }
        }
        let tasks = services.enumerated().map { index, service in
            Task { sink.yield(.ended(part: index, failure: await failure(of: service))) }
        }
        var deadline: Task<Void, Never>?
        defer {
            listening.cancel()
            deadline?.cancel()
        }
        var state = GroupState(parts: services.count)
        for await event in events {
            report(event)
            switch state.handle(event) {
            case .wait: continue
            case .leave(let code): leave(code)
            case .cancel(let part, let isFirst):
                if isFirst {
                    reportFirstEnd(state)
                    deadline = Task { [shutdownTimeout] in
                        try? await Task.sleep(for: shutdownTimeout)
                        if !Task.isCancelled { sink.yield(.deadlinePassed) }
                    }
                }
                logger.debug("stopping part", ["part.name": .text(services[part].name)])
                tasks[part].cancel()
            case .finish(let code, let unfinished):
                if state.firstEnded != nil, services.count == 1 { reportFirstEnd(state) }
                for part in unfinished {
                    logger.error(
                        "part did not stop in time",
                        ["part.name": .text(services[part].name)]
                    )
                }
                return code
            }
        }
        return 1
    }

    private func failure(of service: any Service) async -> String? {
        do {
            try await service.run()
            return nil
        } catch is CancellationError {
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func report(_ event: GroupState.Event) {
        switch event {
        case .stopRequested(let signal):
            logger.info("stop requested", ["signal.number": .integer(Int(signal))])
        case .ended(let part, let failure?):
            logger.error(
                "part failed",
                ["part.name": .text(services[part].name), "error": .text(failure)]
            )
        case .ended(let part, nil):
            logger.debug("part ended", ["part.name": .text(services[part].name)])
        case .deadlinePassed: break
        }
    }

    private func reportFirstEnd(_ state: GroupState) {
        guard let first = state.firstEnded else { return }
        logger.log(
            .critical,
            "a part ended without being told to; stopping the others",
            [
                "part.name": .text(services[first.part].name),
                "error": .text(first.failure ?? "returned"),
            ]
        )
    }
}
