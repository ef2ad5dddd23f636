internal import Foundation

/// A notification about a circle, ready to be shown.
public struct CircleNotification: Sendable, Equatable {
    /// The same for the same piece of news, so that it is never shown twice.
    public var id: String
    /// The circle, nil for a summary over several.
    public var circleID: GroupID?
    /// The circle's name.
    public var title: String
    /// What happened.
    public var body: String
}

/// Shows notifications; `UserNotificationDelivery` is Apple's.
public protocol NotificationDelivery: Sendable {
    /// Shows one.
    func deliver(_ notification: CircleNotification) async
}

/// Tells a person of arrivals and departures in their circles, live and caught up, each once.
public actor CircleNotifications {
    /// Events that are remembered, so that catching up and the live connection do not repeat them.
    static let rememberedLimit = 64
    /// Whoever is not in the list any more.
    static let stranger = "Someone"

    /// What one account has been told.
    struct Told: Codable, Equatable {
        /// The last event of each circle, by the server's number.
        var cursors: [String: Int64] = [:]
        var muted: Set<String> = []
        /// Events shown lately, oldest first.
        var live: [String] = []

        func isNews(_ name: String, in circle: GroupID) -> Bool {
            !muted.contains(circle.description) && !live.contains(name)
        }

        mutating func note(_ names: [String]) {
            live = (live + names).suffix(CircleNotifications.rememberedLimit)
        }
    }

    /// What a circle answered.
    private struct Found {
        let circle: CompanionGroup
        let events: [CircleEvent]
    }

    private let api: CompanionAPI
    private let session: any SessionProvider
    private let store: any CompanionStore
    private let delivery: any NotificationDelivery
    private let clock: any CompanionClock
    private var circles: (account: AccountID, groups: [CompanionGroup])?
    /// What was written last: a store that takes nothing would tell everything again and again.
    private var latest: (account: AccountID, told: Told)?

    /// Makes a teller.
    ///
    /// - Parameters:
    ///   - api: Asks for what happened.
    ///   - session: Says whose circles.
    ///   - store: Keeps what was told.
    ///   - delivery: Shows it.
    ///   - clock: Tells what is old.
    public init(
        api: CompanionAPI,
        session: any SessionProvider,
        store: any CompanionStore,
        delivery: any NotificationDelivery,
        clock: any CompanionClock = SystemCompanionClock()
    ) {
        self.api = api
        self.session = session
        self.store = store
        self.delivery = delivery
        self.clock = clock
    }

    /// Switches one circle's notifications; they are on until switched off.
    public func setMuted(_ isMuted: Bool, circle: GroupID) async {
        guard let account = await session.state().account else { return }
        var told = told(account.id)
        if isMuted {
            told.muted.insert(circle.description)
        } else {
            told.muted.remove(circle.description)
        }
        keep(told, account.id)
    }

    /// Shows what happened since the last time, as when the app comes to the foreground.
    ///
    /// At most five notifications and a summary; what is older than three hours is passed over. A
    /// circle that cannot be asked now is asked the next time.
    ///
    /// - Throws: ``CompanionError`` when the circles cannot be listed, `CancellationError`.
    public func catchUp() async throws {
        guard let account = await session.state().account?.id else { return }
        let api = api.acting(as: account)
        let groups = try await api.groups(.circle)
        circles = (account, groups)
        let told = told(account)
        let muted = Set(told.muted.compactMap { GroupID($0) })
        var found: [Found] = []
        for circle in CircleNotifyPolicy.circlesToDeliver(groups, muted: muted) {
            do {
                let known = told.cursors[circle.id.description] ?? 0
                let events = try await api.events(in: circle.id, after: known)
                found.append(Found(circle: circle, events: events))
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                continue
            }
        }
        let (plan, origins) = take(found, account)
        if plan.furtherCount > 0 { await delivery.deliver(Self.summary(plan.furtherCount)) }
        for event in plan.events {
            guard let circle = origins[event.id] else { continue }
            await delivery.deliver(
                notification(
                    Self.name(event, in: circle.id),
                    circle,
                    event.riderID,
                    event.kind,
                    event.placeName
                )
            )
        }
    }

    /// Shows an event that came over the live connection.
    public func announce(_ event: LivePlaceEvent) async {
        guard let account = await session.state().account?.id, event.riderID != account,
            let circle = await circle(event.circleID, of: account), circle.status == .accepted
        else { return }
        let name = Self.name(event)
        // No wait from here to the note: nobody else shows it in between.
        var told = told(account)
        guard told.isNews(name, in: circle.id) else { return }
        told.note([name])
        keep(told, account)
        await delivery.deliver(
            notification(name, circle, event.riderID, event.kind, event.placeName)
        )
    }

    // MARK: - Details

    /// Chooses what is still news and takes note of it.
    ///
    /// While the circles were asked, the live connection or another catch-up may have shown some.
    /// Noted before anything is shown: a crash may cost a notification, but never repeats one.
    private func take(
        _ found: [Found],
        _ account: AccountID
    ) -> (plan: CircleNotifyPolicy.Plan, origins: [EventID: CompanionGroup]) {
        var told = told(account)
        var news: [CircleEvent] = []
        var origins: [EventID: CompanionGroup] = [:]
        for answer in found {
            let circle = answer.circle
            let key = circle.id.description
            let known = told.cursors[key] ?? 0
            let fresh = answer.events.filter { $0.sequence > known }
            told.cursors[key] = fresh.map(\.sequence).max() ?? told.cursors[key]
            for event in fresh where told.isNews(Self.name(event, in: circle.id), in: circle.id) {
                origins[event.id] = circle
                news.append(event)
            }
        }
        let plan = CircleNotifyPolicy.planCatchUp(news, for: account, now: clock.now)
        // The live connection may still be about to tell of them, too.
        told.note(
            plan.events.compactMap { event in
                origins[event.id].map { Self.name(event, in: $0.id) }
            }
        )
        keep(told, account)
        return (plan, origins)
    }

    private func circle(_ id: GroupID, of account: AccountID) async -> CompanionGroup? {
        if let known = known(id, of: account) { return known }
        if let fresh = try? await api.acting(as: account).groups(.circle) {
            circles = (account, fresh)
        }
        return known(id, of: account)
    }

    private func known(_ id: GroupID, of account: AccountID) -> CompanionGroup? {
        guard let circles, circles.account == account else { return nil }
        return circles.groups.first { $0.id == id }
    }

    private func notification(
        _ id: String,
        _ circle: CompanionGroup,
        _ rider: AccountID,
        _ kind: CrossingKind,
        _ place: String
    ) -> CircleNotification {
        CircleNotification(
            id: id,
            circleID: circle.id,
            title: circle.name,
            body: CircleNotifyPolicy.text(
                circle.username(of: rider) ?? Self.stranger,
                kind,
                place: place
            )
        )
    }

    private static func summary(_ count: Int) -> CircleNotification {
        CircleNotification(
            id: "circles-summary",
            circleID: nil,
            title: "",
            body: CircleNotifyPolicy.summary(count)
        )
    }

    /// The same for an event whichever way it came.
    private static func name(_ event: CircleEvent, in circle: GroupID) -> String {
        name(
            LivePlaceEvent(
                circleID: circle,
                riderID: event.riderID,
                placeID: event.placeID,
                placeName: event.placeName,
                kind: event.kind,
                timestampMilliseconds: event.occurredAt.milliseconds
            )
        )
    }

    private static func name(_ event: LivePlaceEvent) -> String {
        [
            event.circleID.description, event.riderID.description, event.placeID.description,
            event.kind.rawValue, String(event.timestampMilliseconds),
        ].joined(separator: ":")
    }

    private func told(_ account: AccountID) -> Told {
        if let latest, latest.account == account { return latest.told }
        return store.value(Told.self, for: Self.key(account)) ?? Told()
    }

    private func keep(_ told: Told, _ account: AccountID) {
        latest = (account, told)
        store.setValue(told, for: Self.key(account))
    }

    private static func key(_ account: AccountID) -> String { "circle-news-\(account)" }
}
