import Bus
import CLinux
import Synchronization
import Telemetry

/// A bus instance in a process of its own, so that tests can kill, freeze and restart it.
///
/// `bus-peer SERVICE INSTANCE PREFIX [key=value …]` prints `ready REQUEST PUBLISH` once it listens,
/// and ends with `stopped HANDLED` on SIGTERM. Its behaviour is asked for by the requests it serves.
@main
struct BusPeerMain {
    static func main() async {
        var arguments = PeerArguments(CommandLine.arguments)
        let metrics = Metrics()
        do {
            var configuration = BusConfiguration(
                service: arguments.service,
                instance: arguments.instance,
                urlPrefix: arguments.prefix
            )
            if let publicKey = arguments.values["public"], let secret = arguments.values["secret"] {
                configuration.curve = try CurveKeys(publicKey: publicKey, secretKey: secret)
            }
            arguments.apply(to: &configuration.limits)
            let bus = try Bus(
                configuration,
                directory: StaticDirectory(parsing: arguments.values["peers"] ?? ""),
                logger: Logger(level: .warning),
                metrics: metrics
            )
            let peer = PeerBehaviour(bus: bus, metrics: metrics)
            bus.serve { await peer.answer($0) }
            try bus.start()
            if let topic = arguments.values["hear"], let service = arguments.values["from"] {
                let pause = arguments.integer("pause") ?? 0
                bus.subscribe(topic: topic, of: service) { peer.hear($0, pauseMicroseconds: pause) }
            }
            for index in 0..<(arguments.integer("states") ?? 0) {
                bus.publish(topic: "state", key: "k\(index)", body: Array("s\(index)".utf8))
            }
            guard let record = bus.record else { return }
            catchTermination()
            say("ready \(record.requestEndpoint) \(record.publishEndpoint)")
            await terminationSignal()
            await bus.shutdown()
            say("stopped \(peer.handled)")
        } catch {
            say("failed \(error)")
        }
    }
}

/// What the tests say on the command line.
struct PeerArguments {
    let service, instance, prefix: String
    let values: [String: String]

    init(_ arguments: [String]) {
        service = arguments.count > 1 ? arguments[1] : ""
        instance = arguments.count > 2 ? arguments[2] : ""
        prefix = arguments.count > 3 ? arguments[3] : ""
        var values: [String: String] = [:]
        for argument in arguments.dropFirst(4) {
            guard let equals = argument.firstIndex(of: "=") else { continue }
            values[String(argument[..<equals])] =
                String(argument[argument.index(after: equals)...])
        }
        self.values = values
    }

    func integer(_ key: String) -> Int? { values[key].flatMap(Int.init) }

    mutating func apply(to limits: inout BusLimits) {
        limits.runningRequests = integer("running") ?? limits.runningRequests
        limits.queuedRequests = integer("queued") ?? limits.queuedRequests
        limits.subscriberQueue = integer("subscriberQueue") ?? limits.subscriberQueue
    }
}

/// Answers what tests ask: the body is a word and its argument.
final class PeerBehaviour: Sendable {
    private struct State {
        var handled = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var heard: [String: String] = [:]
        var heardCount = 0
        var epochs: [UInt64] = []
    }

    private let bus: Bus
    private let metrics: Metrics
    private let state = Mutex(State())

    init(bus: Bus, metrics: Metrics) {
        self.bus = bus
        self.metrics = metrics
    }

    var handled: Int { state.withLock { $0.handled } }

    func answer(_ request: BusRequest) async -> [UInt8] {
        let text = String(decoding: request.body.prefix(200), as: UTF8.self)
        let words = text.split(separator: " ")
        let word = words.first.map(String.init) ?? ""
        let argument = words.count > 1 ? String(words[1]) : ""
        switch word {
        case "count": return Array(String(state.withLock { $0.handled }).utf8)
        case "metrics": return Array(metrics.rendered().utf8)
        case "release":
            for waiter in state.withLock({ state in
                defer { state.held = [] }
                return state.held
            }) { waiter.resume() }
            return []
        case "heard": return Array((state.withLock { $0.heard[argument] } ?? "").utf8)
        case "heardCount": return Array(String(state.withLock { $0.heardCount }).utf8)
        case "epochs": return Array(String(state.withLock { $0.epochs.count }).utf8)
        default: break
        }
        state.withLock { $0.handled += 1 }
        switch word {
        case "die": _ = kill(getpid(), SIGKILL)
        case "hold":
            await withCheckedContinuation { waiter in state.withLock { $0.held.append(waiter) } }
        case "make":
            return [UInt8](repeating: 7, count: Int(argument) ?? 0)
        case "slow": try? await Task.sleep(for: .milliseconds(Int(argument) ?? 20))
        case "ask":
            let answer = try? await bus.request(
                Array("count".utf8),
                to: argument,
                timeout: .seconds(5)
            )
            return answer ?? Array("failed".utf8)
        case "trace": return Array("\(request.trace) \(request.sender)".utf8)
        default: break
        }
        return request.body
    }

    func hear(_ publication: BusPublication, pauseMicroseconds: Int) {
        state.withLock { state in
            state.heard[publication.key] = String(
                decoding: publication.body.prefix(100),
                as: UTF8.self
            )
            state.heardCount += 1
            if state.epochs.last != publication.epoch { state.epochs.append(publication.epoch) }
        }
        if pauseMicroseconds > 0 { usleep(UInt32(pauseMicroseconds)) }
    }
}

/// Writes one line to standard output in a single call.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

private let signalPipe: (read: Int32, write: Int32) = {
    var ends: [Int32] = [0, 0]
    _ = pipe(&ends)
    return (ends[0], ends[1])
}()

private func noteSignal(_ signal: Int32) {
    var byte: UInt8 = 1
    _ = write(signalPipe.write, &byte, 1)
}

/// From here on SIGTERM is noted and the process ends with the test process; comes before `ready`,
/// since a test may stop the peer at once.
func catchTermination() {
    _ = signalPipe
    _ = signal(SIGTERM, noteSignal)
    prctlParentDeath()
}

/// Returns after SIGTERM; waits on a thread of the system.
func terminationSignal() async {
    await withCheckedContinuation { waiter in
        startThread {
            var byte: UInt8 = 0
            while read(signalPipe.read, &byte, 1) < 0 {}
            waiter.resume()
        }
    }
}
