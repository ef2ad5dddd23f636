import Bus
import CLinux
import Glibc
import Synchronization
import Telemetry
import TestKit
import Testing

/// The two ways a fleet is connected.
enum Network: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case ipc
    case tcp

    var testDescription: String { self == .ipc ? "ipc" : "tcp with CURVE" }
}

/// Says what a test says; each change is news at once.
final class TestDirectory: InstanceDirectory {
    private let state = Mutex<(records: [InstanceRecord], observers: [@Sendable () -> Void])>(
        ([], [])
    )

    func set(_ record: InstanceRecord) {
        change {
            $0.removeAll { $0.instance == record.instance }
            $0.append(record)
        }
    }
    func remove(_ instance: String) { change { $0.removeAll { $0.instance == instance } } }

    private func change(_ body: (inout [InstanceRecord]) -> Void) {
        let observers = state.withLock { state in
            body(&state.records)
            return state.observers
        }
        for observer in observers { observer() }
    }

    func announce(_ record: InstanceRecord) async throws {}
    func withdraw(_ record: InstanceRecord) async throws {}
    func instances() async throws -> [InstanceRecord] { state.withLock { $0.records } }
    func observe(_ changed: @escaping @Sendable () -> Void) {
        state.withLock { $0.observers.append(changed) }
    }
}

/// One test's fleet: a folder for its sockets, its keys, its peers.
final class Fleet {
    let network: Network
    let keys: CurveKeys
    let folder: String
    let directory = TestDirectory()
    private var peers: [PeerProcess] = []

    init(_ network: Network) throws {
        self.network = network
        keys = try CurveKeys.generate()
        var template = Array("/tmp/bus-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for peer in peers { peer.kill() }
        for name in ["req", "pub", "out"] {
            for peer in peers { unlink("\(folder)/\(peer.instance).\(name)") }
        }
        unlink("\(folder)/tester.req")
        unlink("\(folder)/tester.pub")
        rmdir(folder)
    }

    var prefix: String { network == .ipc ? "ipc://\(folder)/" : "tcp://127.0.0.1:" }

    /// Starts a peer and waits until it listens; the directory then knows it.
    func peer(_ instance: String = "peer-1", _ arguments: String...) async throws -> PeerProcess {
        let peer = try start(instance, arguments)
        let line = try await peer.line("ready ")
        let words = line.split(separator: " ").map(String.init)
        directory.set(
            InstanceRecord(
                service: "peer",
                instance: instance,
                requestEndpoint: words[1],
                publishEndpoint: words[2]
            )
        )
        return peer
    }

    /// Starts a peer.
    func start(_ instance: String = "peer-1", _ arguments: [String] = []) throws -> PeerProcess {
        var all = ["peer", instance, prefix] + arguments
        if network == .tcp { all += ["public=\(keys.publicKey)", "secret=\(keys.secretKey)"] }
        let peer = try PeerProcess(all, output: "\(folder)/\(instance).out")
        peers.append(peer)
        return peer
    }

    /// A started bus of the test process.
    func bus(
        metrics: Metrics = Metrics(),
        limits: BusLimits = BusLimits(),
        knowing instances: String...,
        serving handler: (@Sendable (BusRequest) async -> [UInt8])? = nil
    ) async throws -> Bus {
        let bus = try Bus(
            BusConfiguration(
                service: "tester",
                instance: "tester",
                urlPrefix: prefix,
                curve: network == .tcp ? keys : nil,
                limits: limits
            ),
            directory: directory,
            logger: .silent,
            metrics: metrics
        )
        if let handler { bus.serve(handler) }
        try bus.start()
        try await eventually("the peers are known") {
            Set(instances).isSubset(of: bus.instances(of: "peer"))
        }
        return bus
    }
}

/// Why a helper gave up.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Metrics {
    /// The value of one series by its name and labels as rendered, 0 when absent.
    func value(_ series: String) -> Int { Self.value(series, in: rendered()) }

    static func value(_ series: String, in text: String) -> Int {
        for line in text.split(separator: "\n") where line.hasPrefix(series + " ") {
            return Int(Double(line.dropFirst(series.count + 1)) ?? 0)
        }
        return 0
    }
}

extension Bus {
    /// Asks a peer in words and reads its answer as text.
    func ask(
        _ text: String,
        of instance: String = "peer-1",
        timeout: Duration = .seconds(10),
        resend: Bool = true
    ) async throws(BusError) -> String {
        let answer = try await request(
            Array(text.utf8),
            to: instance,
            timeout: timeout,
            resend: resend
        )
        return String(decoding: answer, as: UTF8.self)
    }

    /// The value of one series of a peer.
    func metric(_ series: String, of instance: String = "peer-1") async throws -> Int {
        try await Metrics.value(series, in: ask("metrics", of: instance))
    }
}
