internal import ServiceKit

/// Checks what every service will read, before a database is made or a program started.
enum Preflight {
    /// Reads the settings of all services as they will.
    ///
    /// - Parameter environment: What all of them are given.
    /// - Returns: Warnings, each once.
    /// - Throws: ``OperationError`` with every fault of every service, each once.
    static func check(_ environment: [String: String]) throws(OperationError) -> [String] {
        let tables = Fleet.definitions.map(\.table)
        let known = Set((tables + [UpSettings.table]).flatMap { $0.declarations.map(\.key) })
        var faults: [String] = []
        var warnings: [String] = []
        for table in tables {
            do throws(SettingsError) {
                warnings += try table.read(environment: environment).warnings
            } catch {
                faults += error.faults.map(\.description)
            }
        }
        guard faults.isEmpty else {
            throw OperationError(
                "\(SettingsError(faults: unique(faults).map { SettingFault($0) }))"
            )
        }
        // What one service does not know may be another one's setting.
        return unique(warnings).filter { warning in
            !known.contains { warning.hasPrefix("\($0) is not a setting") }
        }
    }

    private static func unique(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }
}
