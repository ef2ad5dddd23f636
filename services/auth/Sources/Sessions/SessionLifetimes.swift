internal import ServiceKit

/// How long what is signed for a session counts.
struct SessionLifetimes: Sendable {
    /// How long staff stay logged in on the pages in a browser (spec 1.2).
    static let browser = Duration.seconds(24 * 3600)

    static let accessSetting = Setting.duration(
        "ACCESS_TOKEN_TTL",
        default: .seconds(15 * 60),
        in: .seconds(1)...(.seconds(24 * 3600)),
        "How long an access token of a member or of staff is valid."
    )
    static let refreshSetting = Setting.duration(
        "REFRESH_TOKEN_TTL",
        default: .seconds(168 * 3600),
        in: .seconds(2)...(.seconds(400 * 24 * 3600)),
        "How long a refresh token is valid; each use gives a new one."
    )
    /// A refresh token that ends before its access token would be of no use (spec 1.2).
    static let rule = SettingsRule(over: [accessSetting.key, refreshSetting.key]) { settings in
        guard settings[refreshSetting] <= settings[accessSetting] else { return [] }
        return [SettingFault("REFRESH_TOKEN_TTL must be longer than ACCESS_TOKEN_TTL")]
    }

    let access: Duration
    let refresh: Duration

    init(_ settings: Settings) {
        access = settings[Self.accessSetting]
        refresh = settings[Self.refreshSetting]
    }

    /// The longest that any token of an account counts.
    var longest: Duration { max(access, Self.browser) }
}
