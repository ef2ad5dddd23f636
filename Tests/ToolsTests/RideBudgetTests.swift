import Bus
import Foundation
import FoundationNetworking
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import Operations
@testable import RiderIngestService
@testable import VehiclePositionsKit

/// How much data a ride of twenty minutes takes, measured on the wire before the real gateway.
///
/// The riders' HTTP surface is the real one; its verifiers say that the ride is verified at once and
/// published after half a minute:
/// a known rider's is after three matching fixes, another's after twelve that the agency agrees with.
@Suite(.timeLimit(.minutes(3))) struct RideBudgetTests {
    /// Seed section 1.
    static let budgetBytes = 100_000
    static let publishedAfterSeconds: Int64 = 30

    enum Wire: String, CaseIterable {
        case http1 = "HTTP/1.1 and TLS"
        case http2 = "HTTP/2 and TLS"
        /// Measured to be known: every five seconds to the end.
        case unpublished = "HTTP/2 and TLS, never published"

        var uploads: ClosedRange<Int> { self == .unpublished ? 238...242 : 80...90 }
        var fixes: ClosedRange<Int> { self == .unpublished ? 1199...1201 : 410...450 }
        var version: String { self == .http1 ? "HTTP/1.1" : "HTTP/2" }
    }

    @Test(arguments: Wire.allCases)
    func `a ride of twenty minutes stays within its budget`(wire: Wire) async throws {
        let rider = UniqueID.random()
        let tokens = TestTokens(clock: ManualClock().application)
        let server = try HTTPServer(
            endpoints: endpoints(wire),
            authorizer: tokens.verifier([.rider])
        )
        let behind = try server.start()
        let port = try TestPort.free(1)[0]
        let caddy = try RunningCaddy(try caddyfile(wire, behind: behind, port: port))
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: port)
        try await waitForCertificate(of: caddy, on: port)
        let relay = try CountingRelay(to: port)
        defer { relay.stop() }
        let curl = CurlExchange(usesHTTP2: wire != .http1, authority: caddy.authority)
        let versions = Mutex<Set<String>>([])
        let transport = URLSessionRideTransport(allowsInsecure: false) { request in
            let (body, answer) = try await curl.run(request)
            let version = (answer as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Version")
            versions.withLock { _ = $0.insert(version ?? "") }
            return (body, answer)
        }
        let measure = try await RideOnTheWire.ride(
            through: transport,
            to: "https://localhost:\(relay.port)",
            // As long as auth makes them: it goes out with each call.
            token: tokens.token(
                .rider,
                subject: rider,
                lifetime: .seconds(8760 * 3600),
                installation: InstallationFacts(
                    addressBlock: .max,
                    installedAt: 1_800_000_000,
                    build: .max
                )
            )
        )
        #expect(measure.failures == [])
        // Each fix while the interval is five seconds, each third one after that.
        #expect(wire.fixes.contains(measure.summary?.points ?? 0))
        #expect(relay.connections == 1)
        #expect(versions.withLock { $0 } == [wire.version])
        // Every five seconds for half a minute, then every fifteen.
        #expect(wire.uploads.contains(measure.uploads))
        print(
            """
            a ride of 20 minutes, \(measure.summary?.points ?? 0) fixes in \(measure.uploads) uploads: \
            \(relay.bytes) bytes over \(wire.rawValue), \
            of them \(measure.sentBodies) bodies sent and \(measure.receivedBodies) received
            """
        )
        if wire == .http2 { #expect(relay.bytes <= Self.budgetBytes) }
        await server.shutdown(within: .zero)
    }

    /// Caddy listens before it has signed its certificate.
    private func waitForCertificate(of caddy: RunningCaddy, on port: Int) async throws {
        let url = try #require(URL(string: "https://localhost:\(port)/ready"))
        let curl = CurlExchange(usesHTTP2: true, authority: caddy.authority)
        try await eventually("Caddy has signed its certificate", within: .seconds(20)) {
            (try? await curl.run(URLRequest(url: url))) != nil
        }
    }

    // MARK: - The server

    /// The riders' endpoints over verifiers that accept everything.
    private func endpoints(_ wire: Wire) -> [Endpoint] {
        let verifier = AgreeableVerifier(publishes: wire != .unpublished)
        let client = VerifierClient(
            VerifierClient.Transport(
                ask: { bytes, _, _, _ throws(BusError) in
                    guard let request = try? RideRequest(decoding: bytes) else {
                        throw .configuration("the request does not decode")
                    }
                    return RideReply(to: request, verifier.reply(request.body)).encoded()
                },
                living: { ["a"] },
                sleep: { _ in },
                now: { .now }
            ),
            metrics: Metrics()
        )
        let slots = Slot.all.map { SlotTable.Entry(slot: $0, epoch: 1) }
        client.heard(SlotTable(instance: "a", sequence: 1, slots: slots))
        return RiderEndpoints(verifiers: client, now: { 1_800_000_000 }).all
    }

    private final class AgreeableVerifier: Sendable {
        let publishes: Bool
        private let seen = Mutex((began: nil as UnixSeconds?, points: 0))

        init(publishes: Bool) { self.publishes = publishes }

        func reply(_ request: RideRequest.Body) -> RideReply.Body {
            switch request {
            case .start:
                let date = ServiceDate("20270115") ?? ServiceDate(daysSince1970: 0)
                return .started(RideStarted(state: "pending", startDate: date, routeID: "R"))
            case .positions(let report):
                let latest = report.points.last?.timestamp ?? 0
                let began = seen.withLock { seen in
                    seen.points += report.points.count
                    seen.began = seen.began ?? report.points.first?.timestamp
                    return seen.began ?? latest
                }
                return .accepted(
                    BatchAccepted(
                        state: "verified",
                        published: publishes && latest - began >= publishedAfterSeconds,
                        corroboration: "unavailable",
                        accepted: report.points.count,
                        ignored: 0,
                        offRouteStreak: 0,
                        ended: false
                    )
                )
            default:
                let count = seen.withLock { $0.points }
                return .ended(
                    RideEnded(points: count, matched: count, corroborated: 0, durationSeconds: 1200)
                )
            }
        }
    }

    /// The gateway's own configuration, on TLS with a certificate of its own.
    private func caddyfile(_ wire: Wire, behind: Int, port: Int) throws -> String {
        let gateway = Gateway(
            routes: try RouteTable(file: ProjectPaths.root + "/deploy/routes.json"),
            upstreams: ["rider-ingest": .addresses(["127.0.0.1:\(behind)"])],
            site: .local(bind: "127.0.0.1", port: port, supervisor: "127.0.0.1:\(behind)")
        )
        var text = gateway.caddyfile
        for (plain, secured) in [
            ("auto_https off", "auto_https disable_redirects\n\tskip_install_trust"),
            ("protocols h1\n", wire == .http1 ? "protocols h1\n" : "protocols h1 h2\n"),
            ("http://:\(port) {\n", "https://localhost:\(port) {\n\ttls internal\n"),
        ] {
            try #require(text.contains(plain))
            text = text.replacingOccurrences(of: plain, with: secured)
        }
        return text
    }
}
