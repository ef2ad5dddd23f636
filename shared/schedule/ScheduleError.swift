/// Why a schedule was refused, down to the line.
public struct ScheduleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The zip's name or address.
    public let source: String
    /// The file in the zip, if one is to blame.
    public let file: String?
    /// The line on which the row begins, 1 for the header.
    public let line: Int?
    /// What is wrong.
    public let reason: String

    /// Makes an error.
    public init(source: String, file: String? = nil, line: Int? = nil, reason: String) {
        self.source = source
        self.file = file
        self.line = line
        self.reason = reason
    }

    /// One sentence that names source, file, line and reason.
    public var description: String {
        var text = source + ": "
        if let file {
            text += file
            if let line { text += " line \(line)" }
            text += ": "
        }
        return text + reason
    }
}
