import Foundation
import Synchronization
import Transit
import VehiclePositionsKit

/// A ride through the kit that apps use, on the trip of another rider, with a fix each second.
struct KitRide: Sendable {
    private let reporter: RideReporter
    private let phone: Phone
    private let log = Log()
    private let following: Task<Void, Never>

    /// Registers and starts the ride.
    init(beside rider: TestRider) async throws {
        guard let url = URL(string: rider.product.url) else { throw URLError(.badURL) }
        phone = Phone(rider)
        var configuration = RideReporterConfiguration(
            serverURL: url,
            appID: "e2e.kit",
            appVersion: "1"
        )
        configuration.honorsRetryAfter = true
        reporter = RideReporter(
            configuration: configuration,
            transport: URLSessionRideTransport.insecureForDevelopment(),
            locationSource: phone,
            credentialStore: InMemoryCredentialStore()
        )
        let events = try await reporter.start(TripDescriptor(tripID: rider.trip.id.rawValue))
        following = Task { [log] in
            for await event in events { log.events.withLock { $0.append(event) } }
        }
    }

    /// The times of the fixes so far, POSIX seconds.
    var times: [Int64] { phone.times.withLock { $0 } }

    var events: [RideEvent] { log.events.withLock { $0 } }

    /// The server's id of the ride.
    var rideID: String? {
        for case .started(let rideID) in events { return rideID }
        return nil
    }

    /// No more fixes come.
    func stand() { phone.isStanding.withLock { $0 = true } }

    /// Ends the ride; every event is known then.
    func end() async {
        await reporter.end(reason: .arrived)
        await following.value
    }

    private final class Log: Sendable {
        let events = Mutex<[RideEvent]>([])
    }

    /// A phone in the bus: it is where the timetable says.
    private final class Phone: LocationSource {
        struct Handle: BackgroundActivityHandle {
            func invalidate() {}
        }

        let times = Mutex<[Int64]>([])
        let isStanding = Mutex(false)
        private let rider: TestRider

        init(_ rider: TestRider) { self.rider = rider }

        func beginBackgroundActivity() -> any BackgroundActivityHandle { Handle() }

        func updates() -> AsyncThrowingStream<LocationSample, any Error> {
            AsyncThrowingStream {
                repeat {
                    // The rhythm of a real phone, against real processes.
                    try await Task.sleep(for: .seconds(1))
                } while self.isStanding.withLock { $0 }
                let time = TestRider.now
                let place = self.rider.place(at: time)
                self.times.withLock { $0.append(time) }
                return LocationSample(
                    coordinate: VehiclePositionsKit.Coordinate(
                        latitude: place.latitude,
                        longitude: place.longitude
                    ),
                    horizontalAccuracy: 5,
                    speed: 1.5,
                    timestamp: Date(timeIntervalSince1970: Double(time))
                )
            }
        }
    }
}
