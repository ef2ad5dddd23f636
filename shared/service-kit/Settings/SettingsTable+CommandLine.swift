extension SettingsTable {
    /// Takes a command line apart whose options are the settings that are not secret.
    ///
    /// - Parameters:
    ///   - arguments: The words, without the program's name.
    ///   - others: Options beside the settings, such as `--help`.
    /// - Returns: The command line; nothing in it is positional.
    /// - Throws: ``UsageError`` naming the option or word that does not belong.
    public func parse(
        _ arguments: [String],
        beside others: [CommandLineOption]
    ) throws(UsageError) -> CommandLineArguments {
        let own = declarations.compactMap { declaration in
            declaration.optionName.map { CommandLineOption($0, takesValue: true) }
        }
        let line = try CommandLineArguments(arguments, options: others + own)
        guard let extra = line.positional.first else { return line }
        throw UsageError("unexpected argument \(extra)")
    }

    /// The settings given on a command line, by key, as ``read(environment:options:)`` takes them.
    public func options(on line: CommandLineArguments) -> [String: String] {
        var options: [String: String] = [:]
        for declaration in declarations {
            guard let name = declaration.optionName, let value = line.value(of: name) else {
                continue
            }
            options[declaration.key] = value
        }
        return options
    }
}
