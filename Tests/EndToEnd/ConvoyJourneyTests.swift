import CompanionKit
import Foundation
import TestKit
import Testing

@testable import CompanionTool

extension EndToEnd.People {
    /// A ride of two through the kit that apps use, over the gateway.
    @Suite(.timeLimit(.minutes(3))) struct ConvoyJourneyTests {
        @Test func `a convoy rides on and votes although its relay is killed`() async throws {
            let product = try await Product.ready()
            let anna = try await ConvoyRider("anna_who_rides", product, 46.05)
            let ben = try await ConvoyRider("ben_who_rides", product, 46.06)
            #expect(try await !anna.api.befriend("ben_who_rides"))
            #expect(try await ben.api.befriend("anna_who_rides"))
            let convoy = try await anna.api.createGroup(.convoy, name: "Sunday ride")
            #expect(try await anna.api.invite("ben_who_rides", to: convoy.id) == .invited)
            #expect(try await ben.api.respond(to: convoy.id, accepting: true) == .accepted)
            for rider in [anna, ben] { try await rider.follow() }
            try await eventually("both see each other", within: .seconds(20)) {
                let seen = await (anna.sees(ben), ben.sees(anna))
                return seen.0 != nil && seen.1 != nil
            }

            kill(try #require(product.child("relay")), SIGKILL)
            let killedAt = Date()
            try await eventually("they see each other move again", within: .seconds(60)) {
                guard let one = await anna.sees(ben), let other = await ben.sees(anna) else {
                    return false
                }
                return min(one.measuredAt, other.measuredAt) > killedAt.addingTimeInterval(1)
            }

            let places = [46.2, 46.3].map {
                SpinCandidate(coordinate: Coordinate(latitude: $0, longitude: 14.5), name: "\($0)")
            }
            #expect(await anna.relay.offerSpin(places))
            try await eventually("the ballot arrives", within: .seconds(20)) {
                await ben.relay.snapshot.spin?.candidates == places
            }
            #expect(await anna.relay.vote(1))
            #expect(await ben.relay.vote(1))
            try await eventually("both take the winner", within: .seconds(20)) {
                let decisions = await [anna.relay.snapshot, ben.relay.snapshot].map(\.spinOutcome)
                return decisions == [.commit(places[1]), .commit(places[1])]
            }

            let said = try await anna.command(["join", "Sunday ride"])
            #expect(said.code == 0 && said.text.contains("in convoy Sunday ride \(convoy.id)"))

            try await anna.api.leave(convoy.id)
            try await eventually("who left is gone at once", within: .seconds(10)) {
                await ben.sees(anna) == nil
            }
            for rider in [anna, ben] { await rider.stop() }
            try await product.remove()
        }
    }
}

/// Somebody on a ride: signed up, connected, and moving.
private final class ConvoyRider: Sendable {
    private static let password = "a long enough password"

    let api: CompanionAPI
    let relay: ConvoyRelay
    private let id: AccountID
    private let handle: String
    private let latitude: Double
    private let product: Product
    private let riding: Task<Void, Never>

    init(_ handle: String, _ product: Product, _ latitude: Double) async throws {
        let server = try #require(URL(string: product.url))
        let transport = URLSessionCompanionTransport.insecureForDevelopment()
        let session = AccountSession(transport: transport, store: InMemoryCompanionStore())
        id = try await session.signUp(handle, password: Self.password, serverURL: server).id
        api = CompanionAPI(transport: transport, session: session)
        let relay = ConvoyRelay(socket: LinuxRelaySocket(serverURL: server), session: session)
        self.relay = relay
        self.handle = handle
        self.latitude = latitude
        self.product = product
        // The rhythm of a real phone, against real processes; the relay client keeps its own.
        riding = Task {
            var step = 0.0
            while !Task.isCancelled {
                step += 1e-5
                let place = Coordinate(latitude: latitude + step, longitude: 14.5)
                await relay.sendLocation(LocationReading(coordinate: place, measuredAt: Date()))
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// Follows the one convoy there is.
    func follow() async throws {
        let convoy = try #require(try await api.groups(.convoy).first)
        await relay.setConvoy(LiveGroup(convoy))
        Task { [relay] in try await relay.run() }
    }

    func sees(_ other: ConvoyRider) async -> LivePeer? { await relay.snapshot.peers[other.id] }

    func stop() async {
        riding.cancel()
        await relay.stop()
    }

    /// Runs the real `companion` as this person.
    func command(_ words: [String]) async throws -> (code: Int32, text: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Product.programs + "/companion")
        process.arguments = words + ["-handle", handle, "-url", product.url]
        var variables = ProcessInfo.processInfo.environment
        variables["COMPANION_PASSWORD"] = Self.password
        process.environment = variables
        process.standardOutput = output
        try process.run()
        try await eventually("companion is done", within: .seconds(30)) { !process.isRunning }
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        return (process.terminationStatus, text)
    }
}
