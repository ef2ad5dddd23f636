internal import ServiceKit

/// Checks what `up` and every service will read, before anything is made or started.
enum Preflight {
    /// Stands in for what `up` brings where the operator says nothing: right, and never used.
    private static let standIns = [
        "DATABASE_URL": "postgresql:///", "GTFS_STATIC_URL": "schedule.zip",
        "JWT_SECRET": String(repeating: "-", count: KeyRing.secretBytes),
        "ADMIN_BOOTSTRAP_EMAIL": FirstAdmin.defaultEmail,
        "ADMIN_BOOTSTRAP_PASSWORD": String(repeating: "-", count: KeyRing.secretBytes),
    ]

    /// Reads the settings of `up` and of all services as they will.
    ///
    /// - Parameters:
    ///   - environment: What the operator has set, options of the command line included.
    ///   - isDemo: Whether a schedule is brought.
    /// - Returns: The settings of `up`, and warnings, each once.
    /// - Throws: ``OperationError`` with every fault of every part, each once.
    static func check(
        _ environment: [String: String],
        isDemo: Bool
    ) throws(OperationError) -> (settings: Settings, warnings: [String]) {
        var faults: [String] = []
        var warnings: [String] = []
        func read(_ table: SettingsTable, _ environment: [String: String]) -> Settings? {
            do throws(SettingsError) {
                let settings = try table.read(environment: environment)
                warnings += settings.warnings
                return settings
            } catch {
                faults += error.faults.map(\.description)
                return nil
            }
        }
        let own = read(UpSettings.table, environment)
        if !isDemo, environment[UpSettings.schedule.key, default: ""].isEmpty {
            faults.append(
                "GTFS_STATIC_URL is missing: set it to a path or URL of a GTFS zip, or run "
                    + "`alongside up --demo`"
            )
        }
        let tables = Fleet.definitions.map(\.table)
        let whole = completed(environment)
        for table in tables { _ = read(table, whole) }
        guard let own, faults.isEmpty else {
            throw OperationError(
                "\(SettingsError(faults: unique(faults).map { SettingFault($0) }))"
            )
        }
        let known = (tables + [UpSettings.table]).flatMap { $0.declarations.map(\.key) }
        // What one service does not know may be another one's setting.
        let real = unique(warnings).filter { warning in
            !known.contains { warning.hasPrefix("\($0) is not a setting") }
        }
        return (own, real)
    }

    private static func completed(_ environment: [String: String]) -> [String: String] {
        var whole = environment
        for (key, value) in standIns {
            let isGiven = [key, key + "_FILE"].contains { environment[$0]?.isEmpty == false }
            if !isGiven { whole[key] = value }
        }
        // The gateway's; each service gets one of its own.
        whole["PORT"] = nil
        return whole
    }

    private static func unique(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }
}
