/// The name under which a subject stands in `auth.revocations` and in logs.
///
/// A revocation outlives what it is about by the life of a token, a year for riders, and a log
/// outlives an erasure. The digest lets them do so without keeping the id of an account or rider
/// that was erased.
public enum SubjectDigest {
    /// The first 128 bits of SHA-256 over the id, in lower-case hexadecimal.
    ///
    /// - Parameter subject: The id as tokens carry it in `sub`.
    /// - Returns: 32 characters.
    public static func text(of subject: String) -> String {
        RevocationKey(subject: subject).hexadecimal
    }
}
