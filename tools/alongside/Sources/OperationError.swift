/// What stopped an operator's command: one sentence that says what to do next.
public struct OperationError: Error, CustomStringConvertible, Equatable {
    /// The sentence, without a full stop at its end.
    public let description: String

    /// Makes an error from its sentence.
    public init(_ description: String) { self.description = description }
}
