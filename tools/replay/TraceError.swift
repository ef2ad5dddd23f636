/// Why a recording cannot be read.
public struct TraceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line, counted from 1; nil when it concerns the whole file.
    public let line: Int?
    /// What is wrong.
    public let reason: String

    init(line: Int? = nil, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    /// The line and the reason.
    public var description: String { line.map { "line \($0): \(reason)" } ?? reason }
}
