internal import FoundationEssentials

/// Everything a service can be told at its start, declared once.
public struct SettingsTable: Sendable {
    /// Largest secret file, in bytes; a bigger one is a mistaken path.
    static let secretFileLimit = 65_536

    /// The settings in the order in which they are printed.
    public let declarations: [SettingDeclaration]
    private let rules: [SettingsRule]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - declarations: The settings; each key once.
    ///   - rules: Checks over several settings.
    public init(_ declarations: [SettingDeclaration], rules: [SettingsRule] = []) {
        precondition(
            Set(declarations.map(\.key)).count == declarations.count,
            "a setting is declared twice"
        )
        self.declarations = declarations
        self.rules = rules
    }

    /// Reads every setting and checks the whole.
    ///
    /// An empty variable counts as unset. An option on the command line wins over the environment.
    ///
    /// - Parameters:
    ///   - environment: The process's environment.
    ///   - options: Values from the command line by key.
    /// - Returns: All values, and warnings about lenient settings and likely typing errors.
    /// - Throws: ``SettingsError`` with every fault found.
    public func read(
        environment: [String: String],
        options: [String: String] = [:]
    ) throws(SettingsError) -> Settings {
        var settings = Settings()
        var faults: [SettingFault] = []
        var wrong: Set<String> = []
        for declaration in declarations {
            let count = faults.count
            switch source(of: declaration, environment, options) {
            case .success(let given): take(declaration, given, into: &settings, &faults)
            case .failure(let fault): faults.append(fault)
            }
            if faults.count > count { wrong.insert(declaration.key) }
        }
        settings.warnings += likelyMistakes(in: environment)
        faults += rules.filter { $0.keys.isDisjoint(with: wrong) }.flatMap { $0.check(settings) }
        guard faults.isEmpty else { throw SettingsError(faults: faults) }
        return settings
    }

    private func take(
        _ declaration: SettingDeclaration,
        _ given: GivenText?,
        into settings: inout Settings,
        _ faults: inout [SettingFault]
    ) {
        if let given {
            if let value = declaration.parse(given.text) {
                let shown = declaration.isSecret ? "<hidden>" : given.text
                settings.set(declaration.key, value, shown: shown, origin: given.origin)
                return
            }
            let fault = SettingFault(wrong: declaration, text: given.text)
            guard declaration.isLenient else { return faults.append(fault) }
            settings.warnings.append("\(fault); using \(declaration.fallbackText)")
        }
        guard let fallback = declaration.fallback else {
            return faults.append(SettingFault(missing: declaration))
        }
        let shown = declaration.fallbackText
        settings.set(declaration.key, fallback, shown: shown, origin: .fallback)
    }

    private func source(
        of declaration: SettingDeclaration,
        _ environment: [String: String],
        _ options: [String: String]
    ) -> Result<GivenText?, SettingFault> {
        let key = declaration.key
        if let text = options[key] { return .success(GivenText(text: text, origin: .commandLine)) }
        let direct = environment[key].flatMap { $0.isEmpty ? nil : $0 }
        let path = environment[key + "_FILE"].flatMap { $0.isEmpty ? nil : $0 }
        guard declaration.isSecret, let path else {
            return .success(direct.map { GivenText(text: $0, origin: .environment) })
        }
        guard direct == nil else {
            return .failure(SettingFault("\(key) and \(key)_FILE are both set; keep one of them"))
        }
        do {
            let text = try secret(in: path)
            return .success(GivenText(text: text, origin: .file))
        } catch {
            return .failure(SettingFault("\(key)_FILE = \"\(path)\": \(error.text)"))
        }
    }

    private func secret(in path: String) throws(SettingFault) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingFault("the file does not exist or cannot be read")
        }
        guard data.count <= Self.secretFileLimit else {
            throw SettingFault("the file is longer than \(Self.secretFileLimit) bytes")
        }
        guard var text = String(data: data, encoding: .utf8) else {
            throw SettingFault("the file is not UTF-8 text")
        }
        // Editors and `echo` end a file with a line feed that is not part of the secret.
        while text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else { throw SettingFault("the file is empty") }
        return text
    }

    /// Variables one typing error away from a declared key: almost always meant to be that key.
    private func likelyMistakes(in environment: [String: String]) -> [String] {
        let known = Set(declarations.flatMap { [$0.key, $0.key + "_FILE"] })
        let long = declarations.map(\.key).filter { $0.utf8.count >= 6 }
        return environment.keys.sorted().compactMap { name in
            guard !known.contains(name),
                let meant = long.first(where: { isOneEdit(from: $0, to: name) })
            else { return nil }
            return "\(name) is not a setting; did you mean \(meant)?"
        }
    }
}

private struct GivenText {
    let text: String
    let origin: Settings.Origin
}

/// Whether one insertion, deletion, replacement or swap of neighbours makes `left` into `right`.
private func isOneEdit(from left: String, to right: String) -> Bool {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    guard abs(left.count - right.count) <= 1, left != right else { return false }
    let prefix = zip(left, right).prefix { $0 == $1 }.count
    let leftRest = left.dropFirst(prefix)
    let rightRest = right.dropFirst(prefix)
    if left.count > right.count { return leftRest.dropFirst().elementsEqual(rightRest) }
    if left.count < right.count { return leftRest.elementsEqual(rightRest.dropFirst()) }
    let swapped = leftRest.prefix(2).reversed().elementsEqual(rightRest.prefix(2))
    let tails = swapped ? 2 : 1
    return leftRest.dropFirst(tails).elementsEqual(rightRest.dropFirst(tails))
}
