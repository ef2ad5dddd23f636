internal import Glibc
internal import Schedule
internal import Telemetry
internal import Transit

/// The settings of the schedule and the source made from them, for services that need one.
public enum ScheduleSettings {
    private static let location = Setting.requiredText(
        "GTFS_STATIC_URL",
        allowed: ScheduleDownload.allowedLocation,
        "The schedule: a path or an http(s) URL of a GTFS zip.",
        where: ScheduleDownload.isLocation
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

    /// How often the builder fetches the schedule again.
    public static func refreshPeriod(_ context: ServiceContext) -> Duration {
        context.settings[refreshPeriod]
    }

    /// Makes a follower and gives it a first schedule.
    ///
    /// - Parameter context: The surroundings of the service; it must have a database.
    /// - Returns: A follower with a schedule in it, whose ``ScheduleFollower/run()`` is the service's to run.
    /// - Throws: `ScheduleError` naming file, line and reason; the start stops with it.
    public static func follower(_ context: ServiceContext) async throws -> ScheduleFollower {
        let source = ScheduleSource(
            location: context.settings[location],
            fetch: { url in try await ScheduleDownload.bytes(url) },
            now: context.clock.now,
            logger: context.logger
        )
        let follower = ScheduleFollower(
            source: source,
            archive: ScheduleArchive(context.database),
            location: context.settings[location],
            logger: context.logger
        )
        try await follower.start()
        return follower
    }
}
