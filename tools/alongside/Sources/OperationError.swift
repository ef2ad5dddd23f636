internal import Database

/// What stopped an operator's command: one sentence that says what to do next.
public struct OperationError: Error, CustomStringConvertible, Equatable {
    /// The sentence, without a full stop at its end.
    public let description: String

    /// Makes an error from its sentence.
    public init(_ description: String) { self.description = description }

    /// Makes the error of a database that cannot be reached.
    init(unreachable error: DatabaseError) {
        description =
            "the database is not reachable (\(error.message)); start it or check DATABASE_URL"
    }
}
