internal import Glibc
public import Schedule
internal import Telemetry
internal import Transit
internal import Web

/// The settings of the schedule and the source made from them, for services that need one.
public enum ScheduleSettings {
    /// A schedule is no larger than this when it is fetched (spec 1.13).
    static let downloadBytes = 512 << 20
    /// A fetch takes no longer than this (spec 1.13).
    static let downloadTime = Duration.seconds(600)

    private static let location = Setting.requiredText(
        "GTFS_STATIC_URL",
        "The schedule: a path or an http(s) URL of a GTFS zip."
    )
    private static let refreshPeriod = Setting.duration(
        "GTFS_STATIC_REFRESH",
        default: .seconds(86_400),
        in: .seconds(1)...(.seconds(30 * 86_400)),
        "How often the schedule is fetched again; a failure keeps the old one."
    ).lenient

    /// What a service adds to its settings.
    public static var declarations: [SettingDeclaration] {
        [location.declaration, refreshPeriod.declaration]
    }

    /// Makes the source and loads the schedule.
    ///
    /// - Parameter context: The surroundings of the service.
    /// - Returns: A source with a schedule in it.
    /// - Throws: `ScheduleError` naming file, line and reason; the start stops with it.
    public static func source(_ context: ServiceContext) async throws -> ScheduleSource {
        let client = HTTPClient()
        let source = ScheduleSource(
            location: context.settings[location],
            fetch: { url in
                let response = try await client.get(
                    url,
                    limits: HTTPClientLimits(
                        bodyBytes: downloadBytes,
                        time: downloadTime,
                        redirects: 5
                    )
                )
                guard response.status == 200 else {
                    throw ScheduleError(source: url, reason: "it answers \(response.status)")
                }
                return response.body
            },
            now: context.clock.now,
            logger: context.logger
        )
        try await source.load()
        return source
    }

    /// Fetches the schedule again and again until the task is cancelled.
    public static func refresh(_ source: ScheduleSource, _ context: ServiceContext) async {
        await source.run(every: context.settings[refreshPeriod])
    }
}
