extension SettingsTable {
    /// The text of `--help`.
    ///
    /// - Parameters:
    ///   - program: The executable's name.
    ///   - summary: What it is for, in one sentence.
    /// - Returns: Usage, options and every setting with its default and allowed values.
    public func help(program: String, summary: String) -> String {
        var text = """
            \(summary)

            Usage: \(program) [--help] [--print-configuration] [--<setting> <value>]...

              --help                  print this text and exit
              --print-configuration   print the effective settings, secrets hidden, and exit

            Settings are environment variables; an empty one counts as unset. Each that is not a
            secret can also be given as an option: PORT=8080 is --port 8080 (or -port 8080). A
            secret can be given as a file: <SETTING>_FILE names it.


            """
        for declaration in declarations {
            text += "  \(declaration.key)  (\(facts(declaration)))\n"
            text += "      \(declaration.documentation)\n"
        }
        return text
    }

    /// The settings as a Markdown table, for the reference document.
    public func reference() -> String {
        var text =
            "| Setting | Kind | Default | Allowed | Meaning |\n| --- | --- | --- | --- | --- |\n"
        for declaration in declarations {
            let fallback = declaration.isRequired ? "required" : declaration.fallbackText
            let cells = [
                "`\(declaration.key)`", declaration.kind,
                fallback.isEmpty ? "none" : fallback,
                declaration.allowed
                    + (declaration.isLenient ? " (else the default, with a warning)" : ""),
                declaration.documentation,
            ]
            text +=
                "| "
                + cells.map { String($0.flatMap { $0 == "|" ? "\\|" : String($0) }) }
                .joined(separator: " | ") + " |\n"
        }
        return text
    }

    private func facts(_ declaration: SettingDeclaration) -> String {
        var facts = [declaration.kind]
        if declaration.isRequired {
            facts.append("required")
        } else if !declaration.fallbackText.isEmpty {
            facts.append("default \(declaration.fallbackText)")
        }
        if declaration.allowed != "a text" { facts.append(declaration.allowed) }
        return facts.joined(separator: "; ")
    }
}
