import Foundation
import Testing
import Web

@testable import VehiclePositionsKit

/// A reporter among fakes, and what tests do with it.
struct RideFixture {
    let transport = FakeRideTransport()
    let clock: ManualRideClock
    let locations = FakeLocationSource()
    let store: InMemoryCredentialStore
    let reporter: RideReporter

    static let installationID = UUID()
    static let trip = TripDescriptor(tripID: "T1")

    init(
        credentials: RiderCredentials? = nil,
        clock: ManualRideClock = ManualRideClock(),
        configure: (inout RideReporterConfiguration) -> Void = { _ in }
    ) throws {
        self.clock = clock
        store = InMemoryCredentialStore(credentials)
        var configuration = RideReporterConfiguration(
            serverURL: try #require(URL(string: "https://bus.example")),
            appID: "org.example",
            appVersion: "1"
        )
        configure(&configuration)
        reporter = RideReporter(
            configuration: configuration,
            transport: transport,
            locationSource: locations,
            credentialStore: store,
            clock: clock
        )
    }

    func start() async throws -> AsyncStream<RideEvent> {
        try await reporter.start(Self.trip)
    }

    /// Fixes northward from 47.6, so many metres each.
    func fixes(_ count: Int, from meters: Double = 0, step: Double = 50) -> [LocationSample] {
        (0..<count).map { index in
            let north = meters + Double(index) * step
            return LocationSample(
                coordinate: Coordinate(latitude: 47.6 + north / 111_195, longitude: -122.33),
                horizontalAccuracy: 5,
                timestamp: clock.now.addingTimeInterval(Double(index))
            )
        }
    }

    func diagnostic(_ diagnostic: LocationDiagnostic) -> LocationSample {
        LocationSample(coordinate: nil, timestamp: clock.now, diagnostic: diagnostic)
    }

    func still() -> LocationSample {
        LocationSample(coordinate: nil, timestamp: clock.now, isStationary: true)
    }

    /// The number of positions in each upload so far.
    func uploads() async throws -> [Int] {
        try await uploadedTimes().map(\.count)
    }

    /// The times of the positions in each upload so far.
    func uploadedTimes() async throws -> [[Int64]] {
        try await transport.requests(.positions).map { request in
            var body = try #require(request.body)
            if request.contentEncoding == "gzip" {
                body = Data(try Web.Gzip.inflate(Array(body), limit: 1 << 16))
            }
            return try JSONDecoder().decode(PositionsBody.self, from: body).positions
                .map(\.timestamp)
        }
    }
}

extension AsyncStream where Element == RideEvent {
    /// Everything up to the end of the stream.
    func all() async -> [RideEvent] {
        await reduce(into: []) { $0.append($1) }
    }

    /// How the ride ended; also checks that this is the last event and the only such.
    func ending() async -> RideEndReason? {
        let events = await all()
        let endings = events.compactMap { event -> RideEndReason? in
            if case .ended(let reason, summary: _) = event { reason } else { nil }
        }
        guard endings.count == 1, case .ended = events.last else { return nil }
        return endings.first
    }
}
