internal import CLinux
internal import Synchronization

/// How much a log line matters, by meaning.
public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    /// For the maintainer of one module.
    case trace
    /// One event.
    case debug
    /// A change of state.
    case info
    /// Degraded, but going on.
    case warning
    /// Work that failed.
    case error
    /// Giving up.
    case critical

    /// The level as it stands in a line and in `LOG_LEVEL`.
    public var name: String {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// Orders levels by how much they matter.
    public static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A value beside a log line's message.
public enum LogValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// Text, escaped when written.
    case text(String)
    /// A whole number.
    case integer(Int)
    /// A number; not finite becomes null.
    case number(Double)
    /// True or false.
    case flag(Bool)

    /// Makes a text value.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Makes a whole number.
    public init(integerLiteral value: Int) { self = .integer(value) }
}

/// Writes structured lines: one JSON object a line, a constant message and dotted keys.
///
/// Coordinates, tokens and passwords never go into a line: a report is followed by its id.
public struct Logger: Sendable {
    /// Lines below this level are not written.
    public let level: LogLevel
    private let metadata: [(key: String, value: LogValue)]
    private let sink: @Sendable (LogLevel, String) -> Void

    /// Makes a logger.
    ///
    /// - Parameters:
    ///   - level: The lowest level that is written.
    ///   - metadata: Keys that every line carries, such as `service.name`.
    ///   - sink: Where finished lines go, without their line feed; standard error by default.
    public init(
        level: LogLevel = .info,
        metadata: [(key: String, value: LogValue)] = [],
        sink: @escaping @Sendable (LogLevel, String) -> Void = { _, line in
            Logger.writeToStandardError(line)
        }
    ) {
        self.level = level
        self.metadata = metadata
        self.sink = sink
    }

    /// A logger that writes nothing.
    public static let silent = Logger(level: .critical, sink: { _, _ in })

    /// The same logger with more keys on each line.
    public func with(_ more: KeyValuePairs<String, LogValue>) -> Logger {
        Logger(level: level, metadata: metadata + more.map { ($0.key, $0.value) }, sink: sink)
    }

    /// Writes one line when `level` is enabled.
    ///
    /// - Parameters:
    ///   - level: What the line means.
    ///   - message: A constant sentence; what varies goes into `values`.
    ///   - values: Dotted keys and their values; never coordinates or secrets.
    public func log(
        _ level: LogLevel,
        _ message: String,
        _ values: KeyValuePairs<String, LogValue> = [:]
    ) {
        guard level >= self.level else { return }
        var line = "{\"time\":\""
        line += Timestamps.text(ofMilliseconds: Timestamps.nowMilliseconds())
        line += "\",\"level\":\""
        line += level.name
        line += "\",\"message\":"
        JSONText.append(message, to: &line)
        for (key, value) in metadata { Self.append(key, value, to: &line) }
        for (key, value) in values { Self.append(key, value, to: &line) }
        line += "}"
        sink(level, line)
    }

    /// Writes an `info` line.
    public func info(_ message: String, _ values: KeyValuePairs<String, LogValue> = [:]) {
        log(.info, message, values)
    }

    /// Writes a `warning` line.
    public func warning(_ message: String, _ values: KeyValuePairs<String, LogValue> = [:]) {
        log(.warning, message, values)
    }

    /// Writes an `error` line.
    public func error(_ message: String, _ values: KeyValuePairs<String, LogValue> = [:]) {
        log(.error, message, values)
    }

    /// Writes a `debug` line.
    public func debug(_ message: String, _ values: KeyValuePairs<String, LogValue> = [:]) {
        log(.debug, message, values)
    }

    /// Writes one line and its line feed to standard error in a single call, so lines never mix.
    public static func writeToStandardError(_ line: String) {
        var bytes = Array(line.utf8)
        bytes.append(0x0A)
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let written = CLinux.write(
                    2,
                    UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                    rest.count
                )
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }

    private static func append(_ key: String, _ value: LogValue, to line: inout String) {
        line += ","
        JSONText.append(key, to: &line)
        line += ":"
        switch value {
        case .text(let text): JSONText.append(text, to: &line)
        case .integer(let number): line += String(number)
        case .number(let number): line += number.isFinite ? String(number) : "null"
        case .flag(let flag): line += flag ? "true" : "false"
        }
    }
}
