/// The values of a service's settings, checked as a whole.
public struct Settings: Sendable {
    /// Where a value came from.
    public enum Origin: String, Sendable {
        /// Nothing was given.
        case fallback = "default"
        /// A variable of the environment.
        case environment
        /// The file named by `<KEY>_FILE`.
        case file
        /// An option on the command line.
        case commandLine = "command line"
    }

    private struct Entry: Sendable {
        let value: any HeldValue
        let shown: String
        let origin: Origin
    }

    private var entries: [String: Entry] = [:]
    /// What was wrong but did not stop the start, for the log.
    public internal(set) var warnings: [String] = []

    init() {}

    /// The value of a declared setting.
    public subscript<Value: Sendable>(setting: Setting<Value>) -> Value {
        guard let held = entries[setting.key]?.value as? Held<Value> else {
            preconditionFailure("the setting \(setting.key) is not in the service's table")
        }
        return held.value
    }

    /// Where the value of a declared setting came from.
    public func origin<Value: Sendable>(of setting: Setting<Value>) -> Origin {
        entries[setting.key]?.origin ?? .fallback
    }

    /// The effective values, one `KEY=value` a line with its origin; secrets are hidden.
    public func printed(_ table: SettingsTable) -> String {
        let lines = table.declarations.map { declaration in
            (
                "\(declaration.key)=\(entries[declaration.key]?.shown ?? "")",
                entries[declaration.key]?.origin.rawValue ?? ""
            )
        }
        let width = min(48, lines.map(\.0.count).max() ?? 0)
        return lines.map { line, origin in
            line + String(repeating: " ", count: max(0, width - line.count)) + "  # \(origin)\n"
        }
        .joined()
    }

    mutating func set(_ key: String, _ value: any HeldValue, shown: String, origin: Origin) {
        entries[key] = Entry(value: value, shown: shown, origin: origin)
    }
}

/// A check over several settings, such as "A needs B".
public struct SettingsRule: Sendable {
    let keys: Set<String>
    let check: @Sendable (Settings) -> [SettingFault]

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - keys: The settings that it looks at; while one of them is wrong by itself it is not asked.
    ///   - check: The faults of settings that are each right by themselves.
    public init(over keys: Set<String>, _ check: @escaping @Sendable (Settings) -> [SettingFault]) {
        self.keys = keys
        self.check = check
    }
}

/// One sentence about what is wrong with a setting.
public struct SettingFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Longest value that is repeated in a report, in characters.
    private static let shownValueLimit = 80

    let text: String

    /// Makes a fault from a sentence that names the key, the value and what is allowed.
    public init(_ text: String) { self.text = text }

    init(wrong declaration: SettingDeclaration, text: String) {
        let shown =
            declaration.isSecret
            ? "(a secret of \(text.utf8.count) bytes)"
            : "\"\(text.prefix(Self.shownValueLimit))\""
        self.text = "\(declaration.key) = \(shown): must be \(declaration.allowed)"
    }

    init(missing declaration: SettingDeclaration) {
        text = "\(declaration.key) is missing: \(declaration.documentation)"
    }

    /// The sentence.
    public var description: String { text }
}

/// Everything that is wrong with a service's settings.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The faults, in the order of the table.
    public let faults: [SettingFault]

    /// Makes a report.
    public init(faults: [SettingFault]) { self.faults = faults }

    /// All faults in one report.
    public var description: String {
        let title = faults.count == 1 ? "1 setting is wrong" : "\(faults.count) settings are wrong"
        return title + ":\n" + faults.map { "  \($0)\n" }.joined()
    }
}
