public import Transit

extension Setting where Value == Int {
    /// Declares a whole number.
    public static func integer(
        _ key: String,
        default fallback: Int,
        in range: ClosedRange<Int>,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "integer",
            allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            fallback: fallback,
            fallbackText: String(fallback),
            documentation: documentation,
            parse: { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }
        )
    }
}

extension Setting where Value == Double {
    /// Declares a number; not a number and infinity are never allowed.
    public static func number(
        _ key: String,
        default fallback: Double,
        in range: ClosedRange<Double>,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "number",
            allowed: "a number from \(range.lowerBound) to \(range.upperBound)",
            fallback: fallback,
            fallbackText: String(fallback),
            documentation: documentation,
            parse: { text in
                Double(text).flatMap { $0.isFinite && range.contains($0) ? $0 : nil }
            }
        )
    }
}

extension Setting where Value == Bool {
    /// Declares a switch, read as Go's `ParseBool` does: `yes` and `off` are not allowed.
    public static func flag(
        _ key: String,
        default fallback: Bool,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "boolean",
            allowed: "one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False",
            fallback: fallback,
            fallbackText: fallback ? "true" : "false",
            documentation: documentation,
            parse: { text in
                switch text {
                case "1", "t", "T", "TRUE", "true", "True": true
                case "0", "f", "F", "FALSE", "false", "False": false
                default: nil
                }
            }
        )
    }
}

extension Setting where Value == Duration {
    /// Declares a duration in Go's form, `15m` or `1h30m`.
    public static func duration(
        _ key: String,
        default fallback: Duration,
        in range: ClosedRange<Duration>,
        _ documentation: String
    ) -> Setting {
        let bounds = "\(GoDuration.text(range.lowerBound)) to \(GoDuration.text(range.upperBound))"
        return Setting(
            key,
            kind: "duration",
            allowed: "a duration such as 90s or 1h30m, from \(bounds)",
            fallback: fallback,
            fallbackText: GoDuration.text(fallback),
            documentation: documentation,
            parse: { text in GoDuration.parse(text).flatMap { range.contains($0) ? $0 : nil } }
        )
    }
}

extension Setting where Value == String {
    /// Declares a text with a default.
    public static func text(
        _ key: String,
        default fallback: String,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "text",
            allowed: "a text",
            fallback: fallback,
            fallbackText: fallback,
            documentation: documentation,
            parse: { $0 }
        )
    }

    /// Declares a text without which the service does not start.
    ///
    /// - Parameters:
    ///   - key: The name in the environment.
    ///   - allowed: The allowed values as a phrase after "must be".
    ///   - documentation: One sentence for `--help` and the reference.
    ///   - isAllowed: Whether a text is allowed.
    /// - Returns: The declared setting.
    public static func requiredText(
        _ key: String,
        allowed: String = "set",
        _ documentation: String,
        where isAllowed: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> Setting {
        Setting(
            key,
            kind: "text",
            allowed: allowed,
            fallback: nil,
            fallbackText: "",
            documentation: documentation,
            parse: { text in isAllowed(text) ? text : nil }
        )
    }
}

extension Setting where Value == String? {
    /// Declares a text that may be absent.
    ///
    /// - Parameters:
    ///   - key: The name in the environment.
    ///   - allowed: The allowed values as a phrase after "must be".
    ///   - documentation: One sentence for `--help` and the reference.
    ///   - isAllowed: Whether a text is allowed.
    /// - Returns: The declared setting.
    public static func optionalText(
        _ key: String,
        allowed: String = "a text",
        _ documentation: String,
        where isAllowed: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> Setting {
        Setting(
            key,
            kind: "text",
            allowed: allowed,
            fallback: .some(nil),
            fallbackText: "",
            documentation: documentation,
            parse: { text in isAllowed(text) ? .some(text) : nil }
        )
    }
}

extension Setting where Value == [String] {
    /// Declares a comma-separated list; blanks around items and empty items are dropped.
    public static func list(_ key: String, _ documentation: String) -> Setting {
        Setting(
            key,
            kind: "list",
            allowed: "a comma-separated list",
            fallback: [],
            fallbackText: "",
            documentation: documentation,
            parse: { text in
                text.split(separator: ",").map(trimmed).filter { !$0.isEmpty }
            }
        )
    }
}

extension Setting where Value == Secret? {
    /// Declares a secret, read from `<KEY>` or from the file that `<KEY>_FILE` names.
    public static func secret(
        _ key: String,
        minimumBytes: Int = 1,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "secret",
            allowed: minimumBytes == 1 ? "a text" : "at least \(minimumBytes) bytes long",
            fallback: .some(nil),
            fallbackText: "",
            documentation: documentation,
            isSecret: true,
            parse: { text in text.utf8.count >= minimumBytes ? .some(Secret(text)) : nil }
        )
    }
}

extension Setting where Value == UnixSeconds? {
    /// Declares an instant in RFC 3339 form that may be absent.
    public static func instant(_ key: String, _ documentation: String) -> Setting {
        Setting(
            key,
            kind: "instant",
            allowed: "an instant such as 2026-02-16T16:00:00Z",
            fallback: .some(nil),
            fallbackText: "",
            documentation: documentation,
            parse: { text in RFC3339.parse(text).map { .some($0) } }
        )
    }
}

extension Setting
where Value: RawRepresentable & CaseIterable, Value.RawValue == String, Value.AllCases: Sendable {
    /// Declares a choice among the cases of an enum, by their raw values.
    public static func choice(
        _ key: String,
        default fallback: Value,
        _ documentation: String
    ) -> Setting {
        Setting(
            key,
            kind: "choice",
            allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
            fallback: fallback,
            fallbackText: fallback.rawValue,
            documentation: documentation,
            parse: { Value(rawValue: $0) }
        )
    }
}

private func trimmed(_ text: Substring) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let start = text.drop(while: isBlank)
    return String(start.reversed().drop(while: isBlank).reversed())
}
