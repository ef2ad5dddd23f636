internal import FoundationEssentials
internal import ServiceKit

/// The simulated riders of `up --demo`: ten, on five buses.
struct DemoRiders: Sendable {
    private static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders may report."
    ).lenient
    private static let table = SettingsTable([riderMode.declaration])

    private let executable: String
    private let installations: String
    private let logPath: String
    private let environment: [String: String]

    /// Checks all that riders need, before anything is started.
    ///
    /// - Throws: ``OperationError`` when they cannot ride: the program or the riders' mode is
    ///   missing, or the file of an earlier run's riders is broken.
    init(
        _ installation: Installation,
        _ folder: DataFolder,
        environment: [String: String]
    ) throws(OperationError) {
        let settings: Settings
        do throws(SettingsError) {
            settings = try Self.table.read(environment: environment)
        } catch {
            throw OperationError("\(error)")
        }
        guard settings[Self.riderMode] else {
            throw OperationError(
                "--demo brings riders, but RIDER_MODE_ENABLED is off; unset it or leave --demo out"
            )
        }
        executable = try installation.program("ridersim")
        installations = folder.path + "/demo-riders"
        logPath = folder.logs + "/riders.log"
        self.environment = environment
        if let data = FileManager.default.contents(atPath: installations),
            (try? JSONDecoder().decode([String: [String: String]].self, from: data)) == nil
        {
            throw OperationError(
                "\(installations) cannot be read as a file of riders; remove it to register them anew"
            )
        }
    }

    /// The program that rides.
    ///
    /// - Parameters:
    ///   - schedule: The path or address of the schedule that the services have.
    ///   - url: The gateway's.
    ///   - clockOffset: How far the fleet's clock is ahead, in seconds.
    /// - Returns: What the supervisor runs.
    func program(schedule: String, url: String, clockOffset: Int64) -> ManagedProgram {
        ManagedProgram(
            name: "riders",
            executable: executable,
            arguments: [
                "-url", url, "-gtfs", schedule, "-random", "5",
                "-riders-per-trip", "2", "-follow-schedule", "-repeat", "-installations",
                installations, "-clock-offset", "\(clockOffset)s",
            ],
            environment: environment,
            logPath: logPath,
            stage: .riders
        )
    }

    /// What the screen says of them.
    var announcement: String {
        "five buses with two simulated riders each are under way; their log is \(logPath)"
    }
}
