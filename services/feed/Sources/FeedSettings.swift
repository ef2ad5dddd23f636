internal import ServiceKit

/// The feed's own settings (spec 1.13); those of the seed fall back to their default when they are
/// wrong, except where a wrong value would publish what should not be.
enum FeedSettings {
    /// Seconds after which an estimate is not published any more.
    static let pointAge = Setting.duration(
        "RIDER_POINT_MAX_AGE",
        default: .seconds(90),
        in: .seconds(1)...(.seconds(3600)),
        "How old a rider estimate may be to be published."
    ).lenient
    static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether rider estimates are merged into the feed."
    ).lenient
    static let staleness = Setting.duration(
        "STALENESS_THRESHOLD",
        default: .seconds(90),
        in: .seconds(1)...(.seconds(86_400)),
        "How old a driver's report may be to be published."
    )
    static let feedAuth = Setting.flag(
        "FEED_AUTH_ENABLED",
        default: false,
        "Whether readers of the feed need an API key."
    )
    static let retention = Setting.duration(
        "LOCATION_RETENTION_PERIOD",
        default: .zero,
        in: .zero...(.seconds(100 * 365 * 86_400)),
        "How long drivers' points are kept after their receipt; 0 keeps them for ever."
    ).lenient
    static let tilesURL = Setting.optionalText(
        "MAP_PMTILES_URL",
        allowed: "an http or https address with a host and without a user name or password",
        "Where drivers' apps load the agency's map from.",
        where: MapEndpoint.isAllowed
    )
    static let shapeDistance = Setting.number(
        "RIDER_MAX_SHAPE_DISTANCE",
        default: 60,
        in: 1...10_000,
        "Metres beside the shape that are still on the route, as drivers' apps show it."
    ).lenient
    static let scheduleEarly = Setting.duration(
        "RIDER_SCHEDULE_EARLY",
        default: .seconds(15 * 60),
        in: .seconds(-86_400)...(.seconds(86_400)),
        "How far ahead of the schedule is still on it, as drivers' apps show it."
    ).lenient
    static let scheduleLate = Setting.duration(
        "RIDER_SCHEDULE_LATE",
        default: .seconds(90 * 60),
        in: .seconds(-86_400)...(.seconds(86_400)),
        "How far behind the schedule is still on it, as drivers' apps show it."
    ).lenient

    static let trustedFeeds = Setting.list(
        "TRUSTED_GTFS_RT_URLS",
        "The agencies' GTFS-Realtime feeds with vehicle positions, http or https."
    )
    static let trustedPoll = Setting.duration(
        "TRUSTED_FEED_POLL",
        default: .seconds(30),
        in: .seconds(1)...(.seconds(3600)),
        "How often agencies' feeds are asked."
    ).lenient
    static let trustedAge = Setting.duration(
        "TRUSTED_FEED_MAX_AGE",
        default: .seconds(300),
        in: .seconds(1)...(.seconds(3600)),
        "How old a trusted vehicle may be to be compared with."
    ).lenient
    static let includesAgency = Setting.flag(
        "FEED_INCLUDE_AGENCY",
        default: false,
        "Whether agencies' vehicles are published beside drivers' and riders'."
    )
    static let predictsAgency = Setting.flag(
        "FEED_PREDICT_AGENCY",
        default: false,
        "Whether arrivals are predicted of agencies' vehicles that come without trip updates."
    )
    static let publicURL = Setting.optionalText(
        "FEED_PUBLIC_URL",
        allowed: "an http or https address without a slash at its end",
        "Where the public reaches the feeds, for feeds.json; addresses without a host by default.",
        where: {
            ($0.hasPrefix("http://") || $0.hasPrefix("https://")) && !$0.hasSuffix("/")
        }
    )
    static let licence = Setting.text(
        "FEED_LICENCE",
        default: "",
        "The licence under which the feeds may be used, for feeds.json."
    )

    static var declarations: [SettingDeclaration] {
        [
            trustedFeeds.declaration, trustedPoll.declaration, trustedAge.declaration,
            includesAgency.declaration, predictsAgency.declaration, publicURL.declaration,
            licence.declaration,
            pointAge.declaration, riderMode.declaration, staleness.declaration,
            feedAuth.declaration, retention.declaration, tilesURL.declaration,
            shapeDistance.declaration, scheduleEarly.declaration, scheduleLate.declaration,
        ]
    }

    static func thresholds(_ settings: Settings) -> CatalogueEndpoints.Thresholds {
        CatalogueEndpoints.Thresholds(
            shapeDistance: settings[shapeDistance],
            scheduleEarly: settings[scheduleEarly].components.seconds,
            scheduleLate: settings[scheduleLate].components.seconds
        )
    }
}
