// Stand-in module: CoreLocation
public import Foundation

/// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocationcoordinate2d>.
public struct CLLocationCoordinate2D: Sendable {
    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocationcoordinate2d/latitude>.
    public var latitude: Double
    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocationcoordinate2d/longitude>.
    public var longitude: Double

    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocationcoordinate2d/init(latitude:longitude:)>.
    public init(latitude: Double, longitude: Double) { fatalError() }
}

/// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocation>.
open class CLLocation: NSObject, @unchecked Sendable {
    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocation/coordinate>.
    open var coordinate: CLLocationCoordinate2D { fatalError() }
    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocation/horizontalaccuracy>.
    open var horizontalAccuracy: Double { fatalError() }
    /// iOS 2.2, <https://developer.apple.com/documentation/corelocation/cllocation/speed>.
    open var speed: Double { fatalError() }
    /// iOS 2.2, <https://developer.apple.com/documentation/corelocation/cllocation/course>.
    open var course: Double { fatalError() }
    /// iOS 2.0, <https://developer.apple.com/documentation/corelocation/cllocation/timestamp>.
    open var timestamp: Date { fatalError() }
}

/// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate>.
public struct CLLocationUpdate: Sendable {
    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/location>.
    public var location: CLLocation? { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/stationary>.
    public var stationary: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/authorizationdenied>.
    public var authorizationDenied: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/authorizationdeniedglobally>.
    public var authorizationDeniedGlobally: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/authorizationrestricted>.
    public var authorizationRestricted: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/locationunavailable>.
    public var locationUnavailable: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/accuracylimited>.
    public var accuracyLimited: Bool { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/insufficientlyinuse>.
    public var insufficientlyInUse: Bool { fatalError() }

    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/liveupdates(_:)>.
    public static func liveUpdates(_ configuration: LiveConfiguration = .default) -> Updates {
        fatalError()
    }

    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/liveconfiguration>.
    public enum LiveConfiguration: Sendable {
        /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/liveconfiguration/default>.
        case `default`
        /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/liveconfiguration/othernavigation>.
        case otherNavigation
    }

    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/updates>.
    public struct Updates: AsyncSequence {
        /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/updates/iterator>.
        public struct Iterator: AsyncIteratorProtocol {
            /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/updates/iterator/next()>.
            public mutating func next() async throws -> CLLocationUpdate? { fatalError() }
        }

        /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/cllocationupdate/updates/makeasynciterator()>.
        public func makeAsyncIterator() -> Iterator { fatalError() }
    }
}

/// iOS 17.0, <https://developer.apple.com/documentation/corelocation/clbackgroundactivitysession-3mzv3>.
public final class CLBackgroundActivitySession {
    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/clbackgroundactivitysession-3mzv3/init()>.
    public init() { fatalError() }
    /// iOS 17.0, <https://developer.apple.com/documentation/corelocation/clbackgroundactivitysession-3mzv3/invalidate()>.
    public func invalidate() { fatalError() }
}

/// iOS 18.0, <https://developer.apple.com/documentation/corelocation/clservicesession-pt7n>.
public final class CLServiceSession {
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/clservicesession-pt7n/authorizationrequirement>.
    public enum AuthorizationRequirement {
        /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/clservicesession-pt7n/authorizationrequirement/wheninuse>.
        case whenInUse
    }

    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/clservicesession-pt7n/init(authorization:)>.
    public init(authorization: AuthorizationRequirement) { fatalError() }
    /// iOS 18.0, <https://developer.apple.com/documentation/corelocation/clservicesession-pt7n/invalidate()>.
    public func invalidate() { fatalError() }
}
