/// A value that must not be seen in logs, reports or printed configuration.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    private let text: String

    /// Hides `text`.
    public init(_ text: String) { self.text = text }

    /// The value itself; for the call that needs it, never for a log line.
    public func revealed() -> String { text }

    /// The value's UTF-8 bytes.
    public var bytes: [UInt8] { Array(text.utf8) }

    /// A fixed text that says nothing about the value.
    public var description: String { "<hidden>" }

    /// The same fixed text, so that a dump says nothing either.
    public var debugDescription: String { description }
}
