#if canImport(UserNotifications)
internal import UserNotifications

/// Shows notifications through the system, silently without the person's leave.
public struct UserNotificationDelivery: NotificationDelivery {
    /// Makes a delivery.
    public init() {}

    /// Asks the person once whether notifications may be shown.
    ///
    /// - Returns: Whether they may.
    public func requestPermission() async -> Bool {
        let center = UNUserNotificationCenter.current()
        return (try? await center.requestAuthorization(options: [.alert, .sound])) ?? false
    }

    /// Shows one, in place of an earlier one with the same id.
    public func deliver(_ notification: CircleNotification) async {
        let content = UNMutableNotificationContent()
        content.title = notification.title
        content.body = notification.body
        content.sound = .default
        content.threadIdentifier = notification.circleID?.description ?? ""
        let request = UNNotificationRequest(
            identifier: notification.id,
            content: content,
            trigger: nil
        )
        try? await UNUserNotificationCenter.current().add(request)
    }
}
#endif
