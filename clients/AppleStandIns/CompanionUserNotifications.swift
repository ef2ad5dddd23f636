// Stand-in module: UserNotifications
// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary
public import Foundation

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unauthorizationoptions
public struct UNAuthorizationOptions: OptionSet, Sendable {
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/rawvalue
    public let rawValue: UInt
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/init(rawvalue:)
    public init(rawValue: UInt) { fatalError() }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/alert
    public static var alert: UNAuthorizationOptions { fatalError() }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/sound
    public static var sound: UNAuthorizationOptions { fatalError() }
}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationsound
open class UNNotificationSound: NSObject {
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationsound/default
    open class var `default`: UNNotificationSound { fatalError() }
}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationcontent
open class UNNotificationContent: NSObject {}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent
open class UNMutableNotificationContent: UNNotificationContent {
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent/title
    open var title: String {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent/body
    open var body: String {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent/sound
    open var sound: UNNotificationSound? {
        get { fatalError() }
        set { fatalError() }
    }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent/threadidentifier
    open var threadIdentifier: String {
        get { fatalError() }
        set { fatalError() }
    }
}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationtrigger
open class UNNotificationTrigger: NSObject {}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationrequest
open class UNNotificationRequest: NSObject {
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unnotificationrequest/init(identifier:content:trigger:)
    public init(
        identifier: String,
        content: UNNotificationContent,
        trigger: UNNotificationTrigger?
    ) { fatalError() }
}

/// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unusernotificationcenter
open class UNUserNotificationCenter: NSObject {
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/current()
    open class func current() -> UNUserNotificationCenter { fatalError() }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/requestauthorization(options:completionhandler:)
    open func requestAuthorization(options: UNAuthorizationOptions) async throws -> Bool {
        fatalError()
    }
    /// iOS 10.0, https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/add(_:withcompletionhandler:)
    open func add(_ request: UNNotificationRequest) async throws { fatalError() }
}
