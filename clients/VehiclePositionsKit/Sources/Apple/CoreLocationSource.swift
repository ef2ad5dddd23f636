#if canImport(CoreLocation) && !os(macOS)
internal import CoreLocation
internal import Foundation
internal import Synchronization

/// The phone's own positions, from Core Location's live updates.
///
/// The first update asks the rider for permission where the app has none yet; "When In Use" is
/// enough. Pausing while the phone lies still is the system's.
public final class CoreLocationSource: LocationSource {
    /// Updates that a busy reporter may be behind; the oldest go first.
    private static let backlog = 600

    /// Makes the source.
    public init() {}

    /// Positions until the consumer stops.
    public func updates() -> AsyncThrowingStream<LocationSample, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(Self.backlog)) { continuation in
            let task = Task {
                do {
                    for try await update in CLLocationUpdate.liveUpdates(.otherNavigation) {
                        continuation.yield(LocationSample(update, receivedAt: Date()))
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Asks the system to keep the app running; called in the foreground, when a ride starts.
    public func beginBackgroundActivity() -> any BackgroundActivityHandle {
        Activity()
    }

    /// Both sessions for as long as a ride lasts: the system forgets one that nobody holds.
    private final class Activity: BackgroundActivityHandle {
        private struct Sessions {
            let service = CLServiceSession(authorization: .whenInUse)
            let background = CLBackgroundActivitySession()
        }

        private let sessions: Mutex<Sessions?> = Mutex(Sessions())

        func invalidate() {
            sessions.withLock { sessions in
                sessions?.background.invalidate()
                sessions?.service.invalidate()
                sessions = nil
            }
        }
    }
}

extension LocationSample {
    fileprivate init(_ update: CLLocationUpdate, receivedAt now: Date) {
        // With a negative accuracy the system says that the place is none.
        let location = update.location.flatMap { $0.horizontalAccuracy >= 0 ? $0 : nil }
        self.init(
            coordinate: location?.coordinate,
            horizontalAccuracy: location?.horizontalAccuracy ?? -1,
            speed: location?.speed ?? -1,
            course: location?.course ?? -1,
            timestamp: location?.timestamp ?? now,
            isStationary: update.stationary,
            diagnostic: LocationDiagnostic(update)
        )
    }
}

extension LocationDiagnostic {
    /// The gravest of what an update complains of; what ends a ride goes before what only warns.
    fileprivate init?(_ update: CLLocationUpdate) {
        if update.authorizationDenied || update.authorizationDeniedGlobally
            || update.authorizationRestricted
        {
            self = .authorizationDenied
        } else if update.locationUnavailable {
            self = .locationUnavailable
        } else if update.accuracyLimited {
            self = .accuracyLimited
        } else if update.insufficientlyInUse {
            self = .insufficientlyInUse
        } else {
            return nil
        }
    }
}
#endif
