internal import Database
internal import ServiceKit

/// `alongside doctor`: who lives, who owns what, and what to do where something is wrong.
enum DoctorCommand {
    private static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders may report; off means that no slot needs an owner."
    ).lenient

    /// Services that must have a live instance: built, and on the bus.
    static var services: [String] {
        Fleet.definitions.filter { $0.isBuilt && $0.usesBus }.map(\.name)
    }

    /// Examines the deployment behind a database.
    ///
    /// - Parameter environment: Names the database (``OperatorDatabase``); `RIDER_MODE_ENABLED` is heeded.
    /// - Returns: The text to print, and whether all is well.
    /// - Throws: ``OperationError`` when the database cannot be asked.
    static func examine(
        environment: [String: String]
    ) throws(OperationError) -> (text: String, isWell: Bool) {
        let database = try OperatorDatabase(environment)
        let hasRiders: Bool
        do {
            hasRiders = try SettingsTable([riderMode.declaration])
                .read(environment: environment, options: [:])[riderMode]
        } catch {
            throw OperationError("\(error)")
        }
        let reading = try read(database.url)
        let findings = reading.findings(services: services, hasRiders: hasRiders)
        let verdict =
            findings.isEmpty
            ? ["all is well"] : findings.map { "wrong: \($0)" }
        let folder = database.folder.map { ["folder     \($0)"] } ?? []
        return (
            text: (folder + [reading.report] + verdict).joined(separator: "\n"),
            isWell: findings.isEmpty
        )
    }

    private static func read(_ url: String) throws(OperationError) -> DoctorReading {
        let result = BlockingWait.run {
            let database = Database(
                DatabaseConfiguration(
                    url: url,
                    connections: 1,
                    applicationName: "alongside-doctor"
                )
            )
            let reading: Result<DoctorReading, DatabaseError>
            do throws(DatabaseError) {
                reading = .success(
                    try await database.withConnection { connection throws(DatabaseError) in
                        try DoctorReading.read(schemas: Fleet.schemas, on: connection)
                    }
                )
            } catch {
                reading = .failure(error)
            }
            await database.close()
            return try reading.get()
        }
        switch result {
        case .success(let reading): return reading
        case .failure(let error):
            let reason = (error as? DatabaseError)?.message ?? "\(error)"
            throw OperationError(
                "the database cannot be asked (\(reason)); start it or check DATABASE_URL"
            )
        }
    }
}
