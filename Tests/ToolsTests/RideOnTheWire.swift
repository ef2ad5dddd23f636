import Foundation
import Synchronization
import TestKit

@testable import VehiclePositionsKit

/// A clock that a test moves second by second.
final class SteppedClock: RideClock {
    private let time = ManualTime()

    var now: Date { Date(timeIntervalSince1970: 1_800_000_000 + time.elapsed.seconds) }

    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }

    func step() { time.advance(by: .seconds(1)) }
}

/// A transport that says how many calls are under way and how large their bodies were.
actor WatchedTransport: RideTransport {
    private let base: any RideTransport
    private(set) var underWay = 0
    private(set) var uploads = 0
    /// Bytes of JSON, both ways.
    private(set) var bodyBytes = 0
    private(set) var sentBytes = 0
    private(set) var failures: [String] = []

    init(_ base: any RideTransport) { self.base = base }

    func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
        underWay += 1
        defer { underWay -= 1 }
        if request.path.hasSuffix("/positions") { uploads += 1 }
        sentBytes += request.body?.count ?? 0
        do {
            let answer = try await base.send(request, baseURL: baseURL)
            if answer.status >= 300 {
                failures.append(String(decoding: answer.body, as: UTF8.self))
            }
            bodyBytes += answer.body.count
            return answer
        } catch {
            failures.append("\(error)")
            throw error
        }
    }
}

/// Twenty minutes aboard a bus, a fix each second as a phone gives them.
struct RideOnTheWire {
    static let seconds = 1200

    /// What the ride came to.
    struct Measure {
        var uploads = 0
        var sentBodies = 0
        var receivedBodies = 0
        var summary: RideSummary?
        var failures: [String] = []
    }

    static func ride(
        through transport: any RideTransport,
        to url: String,
        token: String
    ) async throws -> Measure {
        let clock = SteppedClock()
        let watched = WatchedTransport(transport)
        let source = StreamedLocations()
        guard let serverURL = URL(string: url) else { throw URLError(.badURL) }
        let reporter = RideReporter(
            configuration: RideReporterConfiguration(
                serverURL: serverURL,
                appID: "org.example.buses",
                appVersion: "4.1.2"
            ),
            transport: watched,
            locationSource: source,
            credentialStore: InMemoryCredentialStore(
                RiderCredentials(installationID: UUID(), riderID: "r", token: token)
            ),
            clock: clock
        )
        let events = try await reporter.start(TripDescriptor(tripID: "1_604321"))
        var random = SeededGenerator(seed: 20)
        for second in 1...Self.seconds {
            clock.step()
            await source.feed(fix(second, at: clock.now, &random))
            while await reporter.isUploading { await Task.yield() }
        }
        await reporter.end(reason: .arrived)
        var measure = Measure()
        for await case .ended(_, summary: let summary) in events { measure.summary = summary }
        measure.uploads = await watched.uploads
        measure.sentBodies = await watched.sentBytes
        measure.receivedBodies = await watched.bodyBytes
        measure.failures = await watched.failures
        return measure
    }

    /// A bus at ten metres a second, seen by a phone in it.
    private static func fix(
        _ second: Int,
        at time: Date,
        _ random: inout SeededGenerator
    ) -> LocationSample {
        LocationSample(
            coordinate: VehiclePositionsKit.Coordinate(
                latitude: 47.6 + Double(second) * 9e-5 + .random(in: -3e-5...3e-5, using: &random),
                longitude: -122.33 + .random(in: -3e-5...3e-5, using: &random)
            ),
            horizontalAccuracy: .random(in: 3...15, using: &random),
            speed: .random(in: 9...11, using: &random),
            course: .random(in: 0...20, using: &random),
            timestamp: time
        )
    }
}

extension RideReporter {
    /// Whether a batch waits for its answer.
    var isUploading: Bool {
        guard let uploads = ride?.uploads else { return false }
        return uploads.unacknowledged.count > uploads.buffer.count
    }
}

/// Positions that a test hands over one by one.
final class StreamedLocations: LocationSource {
    struct Handle: BackgroundActivityHandle {
        func invalidate() {}
    }

    private struct State {
        var sample: LocationSample?
        /// How often the reporter came for a sample; it has dealt with all those before.
        var visits = 0
    }

    private let state = Mutex(State())

    func updates() -> AsyncThrowingStream<LocationSample, any Error> {
        AsyncThrowingStream {
            self.state.withLock { $0.visits += 1 }
            while !Task.isCancelled {
                let sample = self.state.withLock { state in
                    defer { state.sample = nil }
                    return state.sample
                }
                if let sample { return sample }
                await Task.yield()
            }
            return nil
        }
    }

    func beginBackgroundActivity() -> any BackgroundActivityHandle { Handle() }

    /// Returns once the reporter has dealt with the sample.
    func feed(_ sample: LocationSample) async {
        while state.withLock({ $0.visits }) == 0 { await Task.yield() }
        let visits = state.withLock { state in
            state.sample = sample
            return state.visits
        }
        while state.withLock({ $0.visits }) == visits { await Task.yield() }
    }
}
