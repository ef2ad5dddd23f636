extension KeyRing {
    /// A keyed hash that stands for a caller where calls are counted.
    ///
    /// One caller has another mark for each purpose, so that two tables of marks cannot be joined.
    ///
    /// - Parameters:
    ///   - caller: An address, an identity, or whatever else is counted.
    ///   - purpose: What is counted, such as `register`.
    /// - Returns: 128 bits of HMAC-SHA256 in base64url; nil in a process that does not hold the
    ///   secret.
    public func mark(ofCaller caller: String, for purpose: String) -> String? {
        guard let key = markKey else { return nil }
        // An installation's id, hashed with the same key, has no line feed.
        let code = Sodium.authenticationCode(of: Array("\(purpose)\n\(caller)".utf8), key: key)
        return Sodium.base64URL(Array(code.prefix(16)))
    }
}
