internal import Telemetry

/// Keeps this instance announced and the bus thread informed about the others.
struct DirectoryFollower: Sendable {
    let directory: any InstanceDirectory
    let record: InstanceRecord
    let mailbox: BusMailbox
    let logger: Logger
    let interval: Duration

    /// Asks at every interval and after every change, until cancelled.
    func run() async {
        let (ticks, continuation) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        directory.observe { continuation.yield() }
        let ticker = Task.detached { [interval] in
            while !Task.isCancelled {
                continuation.yield()
                try? await Task.sleep(for: interval)
            }
        }
        defer { ticker.cancel() }
        var isFailing = false
        for await _ in ticks {
            do {
                try await directory.announce(record)
                let records = try await directory.instances()
                guard !Task.isCancelled else { return }
                mailbox.learn(records)
                if isFailing { logger.info("the directory of instances answers again") }
                isFailing = false
            } catch {
                if !isFailing, !Task.isCancelled {
                    logger.warning(
                        "the directory of instances fails; known instances stay connected",
                        ["error": .text(String(describing: error))]
                    )
                }
                isFailing = true
            }
        }
    }
}
