/// One named value that a service reads at its start, with its type.
///
/// Settings are declared once, as static members of an enum; reading, `--help`,
/// `--print-configuration` and the reference document all come from the declaration.
public struct Setting<Value: Sendable>: Sendable {
    /// What is known about the setting without its type.
    public let declaration: SettingDeclaration

    /// The name in the environment, such as `PORT`.
    public var key: String { declaration.key }

    /// Declares a setting of a kind of its own; the ready kinds are in `Setting+Kinds.swift`.
    ///
    /// - Parameters:
    ///   - key: The name in the environment.
    ///   - kind: The kind as the reference names it, such as `duration`.
    ///   - allowed: The allowed values as a phrase after "must be".
    ///   - fallback: The value without the variable; nil makes the setting required.
    ///   - fallbackText: The default as it is printed; empty for none.
    ///   - documentation: One sentence for `--help` and the reference.
    ///   - isSecret: Whether the value is hidden and may come from `<KEY>_FILE`.
    ///   - parse: The value of a text, or nil when it is not allowed.
    public init(
        _ key: String,
        kind: String,
        allowed: String,
        fallback: Value?,
        fallbackText: String,
        documentation: String,
        isSecret: Bool = false,
        parse: @escaping @Sendable (String) -> Value?
    ) {
        declaration = SettingDeclaration(
            key: key,
            kind: kind,
            allowed: allowed,
            fallbackText: fallbackText,
            documentation: documentation,
            isRequired: fallback == nil,
            isSecret: isSecret,
            isLenient: false,
            fallback: fallback.map { Held(value: $0) },
            parse: { text in parse(text).map { Held(value: $0) } }
        )
    }

    private init(declaration: SettingDeclaration) { self.declaration = declaration }

    /// The same setting, but a wrong value only warns and the default is taken.
    ///
    /// For the variables of the rider specification, which promises this; our own stop the start.
    public var lenient: Setting {
        var declaration = declaration
        declaration.isLenient = true
        return Setting(declaration: declaration)
    }
}

/// A setting without its type: what a table holds and prints.
public struct SettingDeclaration: Sendable {
    /// The name in the environment.
    public let key: String
    /// The kind of value, such as `duration`.
    public let kind: String
    /// The allowed values as a phrase after "must be".
    public let allowed: String
    /// The default as it is printed; empty for none.
    public let fallbackText: String
    /// One sentence for `--help` and the reference.
    public let documentation: String
    /// Whether the start stops without a value.
    public let isRequired: Bool
    /// Whether the value is hidden, and may come from the file that `<KEY>_FILE` names.
    public let isSecret: Bool
    /// Whether a wrong value only warns and the default is taken.
    public fileprivate(set) var isLenient: Bool

    let fallback: (any HeldValue)?
    let parse: @Sendable (String) -> (any HeldValue)?

    /// The name as a command-line option: `BUS_URL_PREFIX` is `bus-url-prefix`.
    ///
    /// Secrets have none: every user of the machine can read a command line.
    public var optionName: String? {
        isSecret ? nil : String(key.lowercased().map { $0 == "_" ? "-" : $0 })
    }
}

/// Any value of a setting; the box keeps optionals from collapsing in casts.
protocol HeldValue: Sendable {}

struct Held<Value: Sendable>: HeldValue {
    let value: Value
}
