internal import CLinux
internal import Glibc
internal import Synchronization

/// One option of a command line, usable as `-name` and as `--name`.
public struct CommandLineOption: Sendable {
    /// The name without dashes.
    public let name: String
    /// Whether a value follows, as `--name value` or `--name=value`.
    public let takesValue: Bool

    /// Makes an option.
    public init(_ name: String, takesValue: Bool = false) {
        self.name = name
        self.takesValue = takesValue
    }
}

/// A command line that does not follow its program's usage.
public struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence naming the option.
    public let description: String

    /// Makes an error from its sentence.
    public init(_ description: String) { self.description = description }
}

/// A command line taken apart by `getopt_long_only`.
public struct CommandLineArguments: Sendable {
    /// Options in their order; the value is empty for those that take none.
    public private(set) var options: [(name: String, value: String)] = []
    /// What is not an option, in its order.
    public private(set) var positional: [String] = []

    /// The last value given for an option, or nil when it was not given.
    public func value(of name: String) -> String? {
        options.last { $0.name == name }?.value
    }

    /// Whether an option was given.
    public func has(_ name: String) -> Bool { value(of: name) != nil }

    /// Takes a command line apart.
    ///
    /// Options may be shortened as long as they stay unique; `--` ends them.
    ///
    /// - Parameters:
    ///   - arguments: The process's arguments, without the program's name.
    ///   - known: The options the program has.
    ///   - stopsAtPositional: Whether everything after the first positional argument is
    ///     positional, as a program with subcommands needs.
    /// - Throws: ``UsageError`` for an unknown option or a missing value.
    public init(
        _ arguments: [String],
        options known: [CommandLineOption],
        stopsAtPositional: Bool = false
    ) throws(UsageError) {
        let (line, faults) = Self.read(
            arguments,
            options: known,
            stopsAtPositional: stopsAtPositional
        )
        if let fault = faults.first { throw fault }
        self = line
    }

    /// Takes a command line apart as far as it goes, for programs that report every fault at once.
    ///
    /// - Parameters:
    ///   - arguments: The process's arguments, without the program's name.
    ///   - known: The options the program has.
    ///   - stopsAtPositional: Whether everything after the first positional argument is positional.
    /// - Returns: What could be read, and a fault for each option that could not.
    public static func read(
        _ arguments: [String],
        options known: [CommandLineOption],
        stopsAtPositional: Bool = false
    ) -> (line: CommandLineArguments, faults: [UsageError]) {
        // getopt keeps its state in globals.
        let outcome = getoptLock.withLock { _ in
            scan(arguments, known, stopsAtPositional: stopsAtPositional)
        }
        return (CommandLineArguments(outcome), outcome.faults)
    }

    private init(_ outcome: ScanOutcome) {
        options = outcome.options
        positional = outcome.positional
    }
}

private let getoptLock = Mutex(())

private struct ScanOutcome: Sendable {
    var options: [(name: String, value: String)] = []
    var positional: [String] = []
    var faults: [UsageError] = []
}

/// Values that getopt returns for options; above every character, so `?` and `:` stay apart.
private let firstOptionValue: Int32 = 1000

private func scan(
    _ arguments: [String],
    _ known: [CommandLineOption],
    stopsAtPositional: Bool
) -> ScanOutcome {
    let names = known.map { strdup($0.name) }
    var argv = ([""] + arguments).map { strdup($0) } + [nil]
    let owned = argv
    defer { for pointer in names + owned { free(pointer) } }
    var table = zip(names, known.indices).map { name, index in
        option(
            name: UnsafePointer(name),
            has_arg: known[index].takesValue ? required_argument : no_argument,
            flag: nil,
            val: firstOptionValue + Int32(index)
        )
    }
    table.append(option(name: nil, has_arg: 0, flag: nil, val: 0))
    // The leading colon keeps getopt from printing; the plus stops at the first positional.
    let short = stopsAtPositional ? "+:" : ":"
    let count = Int32(arguments.count + 1)
    var outcome = ScanOutcome()
    alongside_getopt_reset()
    while true {
        let before = Int(alongside_getopt_index())
        let found = getopt_long_only(count, &argv, short, table, nil)
        if found == -1 { break }
        if found >= firstOptionValue {
            let value = alongside_getopt_argument().map { String(cString: $0) } ?? ""
            outcome.options.append((known[Int(found - firstOptionValue)].name, value))
            continue
        }
        let index = max(1, min(Int(alongside_getopt_index()) - 1, arguments.count))
        let text = argv[max(index, before)].map { String(cString: $0) } ?? ""
        outcome.faults.append(
            UsageError(
                found == Int32(UInt8(ascii: ":"))
                    ? "the option \(text) needs a value"
                    : "unknown or ambiguous option \(text)"
            )
        )
    }
    let first = Int(alongside_getopt_index())
    outcome.positional = argv[first..<Int(count)].compactMap { $0.map { String(cString: $0) } }
    return outcome
}
