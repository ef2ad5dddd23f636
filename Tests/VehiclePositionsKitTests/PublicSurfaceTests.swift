import Foundation
import Testing
// Not `@testable`: what follows compiles only while apps can write it, too.
import VehiclePositionsKit

/// The public surface that apps are built against (seed 4.12), each part by its name.
///
/// What was added since has a default or a place of its own, and is not written here: source that
/// was made for the first surface goes on to compile.
@Suite struct PublicSurfaceTests {
    let url: URL

    init() throws { url = try #require(URL(string: "https://bus.example")) }

    @Test func `a configuration has the defaults that were promised`() {
        let configuration = RideReporterConfiguration(
            serverURL: url,
            appID: "org.example",
            appVersion: "1.0"
        )
        #expect(configuration.serverURL == url)
        #expect(configuration.appID == "org.example")
        #expect(configuration.appVersion == "1.0")
        #expect(configuration.maxRideDuration == .seconds(3 * 3600))
        #expect(configuration.stationaryTimeout == .seconds(10 * 60))
        #expect(configuration.arrivalRadiusMeters == 75)
        #expect(configuration.minimumTravelBeforeArrivalMeters == 200)
        #expect(configuration.uploadFailureTimeout == .seconds(5 * 60))
        // What goes beyond is off.
        #expect(configuration.honorsRetryAfter == false)
        #expect(configuration.journal == nil)
    }

    @Test func `a trip needs its id alone`() {
        let bare = TripDescriptor(tripID: "T")
        #expect(bare.startDate == nil && bare.routeID == nil && bare.vehicleID == nil)
        #expect(bare.boardingStopID == nil && bare.destinationStopID == nil)
        let full = TripDescriptor(
            tripID: "T",
            startDate: "20260902",
            routeID: "R",
            vehicleID: "V",
            boardingStopID: "A",
            destinationStopID: "B"
        )
        #expect(full != bare)
    }

    @Test func `enums have the raw values of the protocol`() {
        let states: [RideState: String] = [
            .pending: "pending", .verified: "verified", .rejected: "rejected", .unknown: "unknown",
        ]
        for (state, text) in states { #expect(state.rawValue == text) }
        let verdicts: [Corroboration: String] = [
            .unavailable: "unavailable", .none: "none", .corroborated: "corroborated",
            .contradicted: "contradicted", .unknown: "unknown",
        ]
        for (verdict, text) in verdicts { #expect(verdict.rawValue == text) }
        let reasons: [RideEndReason: String] = [
            .userRequested: "user_requested", .arrived: "arrived", .stationary: "stationary",
            .maxDuration: "max_duration", .locationUnavailable: "location_unavailable",
            .authorizationDenied: "authorization_denied", .networkFailure: "network_failure",
            .appTerminated: "app_terminated", .offRoute: "off_route",
            .contradicted: "contradicted", .implausible: "implausible",
            .offSchedule: "off_schedule", .superseded: "superseded",
            .serverRestart: "server_restart", .idle: "idle",
        ]
        for (reason, text) in reasons { #expect(reason.rawValue == text) }
        // No case has been added either: a host's exhaustive switch would no longer compile.
        #expect(states.keys.map(isKnown).count == 4)
        #expect(verdicts.keys.map(isKnown).count == 5)
        #expect(reasons.keys.map(isKnown).count == 15)
    }

    private func isKnown(_ state: RideState) -> Bool {
        switch state {
        case .pending, .verified, .rejected, .unknown: true
        }
    }

    private func isKnown(_ corroboration: Corroboration) -> Bool {
        switch corroboration {
        case .unavailable, .none, .corroborated, .contradicted, .unknown: true
        }
    }

    private func isKnown(_ reason: RideEndReason) -> Bool {
        switch reason {
        case .userRequested, .arrived, .stationary, .maxDuration, .locationUnavailable,
            .authorizationDenied, .networkFailure, .appTerminated, .offRoute, .contradicted,
            .implausible, .offSchedule, .superseded, .serverRestart, .idle:
            true
        }
    }

    @Test func `events, warnings and errors are those that were promised`() {
        let progress = RideProgress(
            state: .verified,
            published: true,
            corroboration: .none,
            pointsAccepted: 3,
            offRouteStreak: 1
        )
        let summary = RideSummary(points: 3, matched: 2, corroborated: 1, durationSeconds: 60)
        let events: [RideEvent] = [
            .registered(riderID: "r"), .started(rideID: "i"), .progress(progress),
            .warning(.uploadRetrying(attempt: 1)), .warning(.accuracyLimited),
            .warning(.insufficientlyInUse), .warning(.batchRejected(status: 422)),
            .ended(.arrived, summary: summary), .ended(.idle, summary: nil),
        ]
        #expect(events.map(describe).count == events.count)
        let errors: [RideError] = [
            .notAuthorized, .server(status: 404, message: "unknown trip"), .transport("t"),
            .alreadyEnded, .decoding("d"),
        ]
        #expect(errors.map(describe).count == errors.count)
    }

    private func describe(_ event: RideEvent) -> String {
        switch event {
        case .registered(riderID: let id), .started(rideID: let id): return id
        case .progress(let progress): return "\(progress)"
        case .warning(let warning):
            switch warning {
            case .uploadRetrying(attempt: let count), .batchRejected(status: let count):
                return "\(count)"
            case .accuracyLimited, .insufficientlyInUse: return ""
            }
        case .ended(let reason, let summary): return "\(reason) \(summary?.points ?? 0)"
        }
    }

    private func describe(_ error: RideError) -> String {
        switch error {
        case .notAuthorized, .alreadyEnded: ""
        case .server(let status, let message): "\(status) \(message)"
        case .transport(let text), .decoding(let text): text
        }
    }

    @Test func `a trip's status is read and written by its names`() throws {
        let status = TripStatus(
            tripID: "T",
            startDate: "20260902",
            trusted: false,
            riderReported: true,
            riders: 2
        )
        let again = try JSONDecoder().decode(TripStatus.self, from: JSONEncoder().encode(status))
        #expect(again == status)
    }

    // MARK: - Seams of a host's own

    private struct Transport: RideTransport {
        func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
            let parts: (String, String, [String: String], Data?, String?) = (
                request.method, request.path, request.query, request.body, request.bearerToken
            )
            return RiderResponse(status: 404, body: Data("{\"error\":\"\(parts.1)\"}".utf8))
        }
    }

    private struct Locations: LocationSource {
        struct Handle: BackgroundActivityHandle { func invalidate() {} }

        func updates() -> AsyncThrowingStream<LocationSample, any Error> {
            AsyncThrowingStream { nil }
        }

        func beginBackgroundActivity() -> any BackgroundActivityHandle { Handle() }
    }

    private struct Credentials: CredentialStore {
        func load() -> RiderCredentials? {
            RiderCredentials(installationID: UUID(), riderID: "r", token: "t")
        }

        func save(_ credentials: RiderCredentials) {}
        func clear() {}
    }

    private struct Clock: RideClock {
        var now: Date { Date() }
        func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
    }

    @Test func `a reporter is made of a host's own parts and answers as promised`() async throws {
        let configuration = RideReporterConfiguration(
            serverURL: url,
            appID: "org.example",
            appVersion: "1.0"
        )
        let reporter = RideReporter(
            configuration: configuration,
            transport: Transport(),
            locationSource: Locations(),
            credentialStore: Credentials(),
            clock: Clock()
        )
        #expect(await reporter.currentState == nil)
        await #expect(throws: RideError.server(status: 404, message: "/api/v1/rider/rides")) {
            let stream: AsyncStream<RideEvent> = try await reporter.start(
                TripDescriptor(tripID: "T")
            )
            for await _ in stream {}
        }
        await #expect(
            throws: RideError.server(status: 404, message: "/api/v1/rider/trips/T/status")
        ) {
            let _: TripStatus = try await reporter.tripStatus(tripID: "T", startDate: nil)
        }
        await reporter.end()
        await reporter.end(reason: .arrived)
        _ = RideReporter(
            configuration: configuration,
            transport: URLSessionRideTransport(),
            locationSource: Locations(),
            credentialStore: InMemoryCredentialStore()
        )
    }

    @Test func `a sample has the readings that were promised`() {
        let sample = LocationSample(
            coordinate: Coordinate(latitude: 47.6, longitude: -122.3),
            horizontalAccuracy: 5,
            speed: 10,
            course: 90,
            timestamp: Date(timeIntervalSince1970: 1),
            isStationary: false,
            diagnostic: .insufficientlyInUse
        )
        let all: [LocationDiagnostic] = [
            .authorizationDenied, .locationUnavailable, .accuracyLimited, .insufficientlyInUse,
        ]
        #expect(sample.coordinate?.latitude == 47.6 && sample.coordinate?.longitude == -122.3)
        #expect(sample.diagnostic == all.last)
    }
}
