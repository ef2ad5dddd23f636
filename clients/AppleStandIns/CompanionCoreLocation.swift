// Stand-in module: CoreLocation
// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary
public import Foundation

/// iOS 2.0, https://developer.apple.com/documentation/corelocation/kcllocationaccuracybest
public var kCLLocationAccuracyBest: Double { fatalError() }
/// iOS 2.0, https://developer.apple.com/documentation/corelocation/kcllocationaccuracyhundredmeters
public var kCLLocationAccuracyHundredMeters: Double { fatalError() }
/// iOS 2.0, https://developer.apple.com/documentation/corelocation/kcldistancefilternone
public var kCLDistanceFilterNone: Double { fatalError() }

/// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanagerdelegate
public protocol CLLocationManagerDelegate: NSObjectProtocol {
    /// iOS 6.0, https://developer.apple.com/documentation/corelocation/cllocationmanagerdelegate/locationmanager(_:didupdatelocations:)
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
    /// iOS 14.0, https://developer.apple.com/documentation/corelocation/cllocationmanagerdelegate/locationmanagerdidchangeauthorization(_:)
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanagerdelegate/locationmanager(_:didfailwitherror:)
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)
}

/// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager
open class CLLocationManager: NSObject {
    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/delegate
    open weak var delegate: (any CLLocationManagerDelegate)?
    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/desiredaccuracy
    open var desiredAccuracy: Double {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/distancefilter
    open var distanceFilter: Double {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 9.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/allowsbackgroundlocationupdates
    open var allowsBackgroundLocationUpdates: Bool {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 6.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/pauseslocationupdatesautomatically
    open var pausesLocationUpdatesAutomatically: Bool {
        get { fatalError() }
        set { fatalError() }
    }

    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/startupdatinglocation()
    open func startUpdatingLocation() { fatalError() }
    /// iOS 2.0, https://developer.apple.com/documentation/corelocation/cllocationmanager/stopupdatinglocation()
    open func stopUpdatingLocation() { fatalError() }
}
