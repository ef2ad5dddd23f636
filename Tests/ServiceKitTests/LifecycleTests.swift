import Glibc
import ServiceKit
import Synchronization
import Telemetry
import Testing

/// What happened, in order, from several tasks.
private final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    private let changes: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)

    init() { changes = AsyncStream<Void>.makeStream() }

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
        changes.continuation.yield()
    }

    func wait(for count: Int) async {
        guard all.count < count else { return }
        for await _ in changes.stream where all.count >= count { return }
    }

    var logger: Logger { Logger(level: .info, sink: { _, line in self.add(line) }) }
}

private struct Failure: Error, CustomStringConvertible {
    let description = "the disk is full"
}

private func part(_ name: String, _ journal: Journal) -> any Service {
    ClosureService(name) {
        journal.add("start \(name)")
        await untilCancelled()
        journal.add("stop \(name)")
    }
}

@Suite(.timeLimit(.minutes(1))) struct ServiceGroupTests {
    private let requests = AsyncStream<Int32>.makeStream()
    private var stops: AsyncStream<Int32> { requests.stream }
    private var signal: AsyncStream<Int32>.Continuation { requests.continuation }

    @Test func `stops the parts in reverse order, one after another`() async {
        let journal = Journal()
        let group = ServiceGroup(["a", "b", "c"].map { part($0, journal) }, logger: .silent)
        async let code = group.run(stops: stops)
        await journal.wait(for: 3)
        signal.yield(15)
        #expect(await code == 0)
        #expect(Set(journal.all.prefix(3)) == ["start a", "start b", "start c"])
        #expect(journal.all.dropFirst(3) == ["stop c", "stop b", "stop a"])
    }

    @Test func `a part that fails stops the others and is named`() async throws {
        let journal = Journal()
        let (fail, trigger) = AsyncStream<Void>.makeStream()
        let services: [any Service] = [
            part("a", journal),
            ClosureService("writer") {
                for await _ in fail { throw Failure() }
            },
            part("c", journal),
        ]
        let log = Journal()
        let group = ServiceGroup(services, logger: log.logger)
        async let code = group.run(stops: stops)
        await journal.wait(for: 2)
        trigger.yield()
        #expect(await code == 1)
        #expect(journal.all.suffix(2) == ["stop c", "stop a"])
        let line = try #require(log.all.first { $0.contains("without being told") })
        #expect(line.contains("\"part.name\":\"writer\",\"error\":\"the disk is full\""))
    }

    @Test func `a part that just returns is a fault too`() async {
        let journal = Journal()
        let group = ServiceGroup(
            [part("a", journal), ClosureService("poller") {}],
            logger: .silent
        )
        #expect(await group.run(stops: stops) == 1)
        #expect(journal.all.last == "stop a")
    }

    @Test func `leaves after the deadline and names what still ran`() async {
        let log = Journal()
        let (never, end) = AsyncStream<Never>.makeStream()
        defer { end.finish() }
        let stuck = ClosureService("stuck") {
            await Task.detached { for await _ in never {} }.value
        }
        let group = ServiceGroup([stuck], logger: log.logger, shutdownTimeout: .milliseconds(20))
        async let code = group.run(stops: stops)
        signal.yield(15)
        #expect(await code == 1)
        #expect(log.all.last?.contains("\"part did not stop in time\"") == true)
        #expect(log.all.last?.contains("\"stuck\"") == true)
    }

    @Test func `a second signal leaves at once`() async {
        let left = Journal()
        let (release, free) = AsyncStream<Never>.makeStream()
        let slow = ClosureService("slow") {
            await untilCancelled()
            left.add("asked")
            await Task.detached { for await _ in release {} }.value
        }
        let group = ServiceGroup(
            [slow],
            logger: .silent,
            leave: {
                left.add("left with \($0)")
                free.finish()
            }
        )
        async let code = group.run(stops: stops)
        signal.yield(2)
        await left.wait(for: 1)
        signal.yield(2)
        #expect(await code == 0)
        #expect(left.all == ["asked", "left with 130"])
    }

    @Test func `what closes a part does not see its cancellation`() async {
        let journal = Journal()
        let service = ClosingService("closer") { journal.add("cancelled: \(Task.isCancelled)") }
        let task = Task { try await service.run() }
        task.cancel()
        _ = await task.result
        #expect(journal.all == ["cancelled: false"])
    }
}

@Suite(.serialized, .timeLimit(.minutes(1))) struct StopSignalsTests {
    /// In this process, too, the concurrency runtime keeps the first thread, with all signals
    /// admitted: without the handler each of these would end the tests.
    @Test func `takes signals whichever thread they reach`() async {
        var taken: [Int32] = []
        let stream = StopSignals.stream()
        kill(getpid(), SIGTERM)
        for await number in stream {
            taken.append(number)
            if taken.count == 4 { break }
            kill(getpid(), taken.count % 2 == 0 ? SIGTERM : SIGINT)
        }
        signal(SIGTERM, SIG_DFL)
        signal(SIGINT, SIG_DFL)
        #expect(taken == [SIGTERM, SIGINT, SIGTERM, SIGINT])
    }
}
