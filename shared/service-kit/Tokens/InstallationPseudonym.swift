public import Transit

extension KeyRing {
    /// A keyed hash of an installation's id, in the form of an id (version 8 of RFC 9562).
    ///
    /// Nobody without `JWT_SECRET` can tell which installation it is of. It does not change with the
    /// key generation, only with the secret.
    ///
    /// - Parameter installation: The id that a phone has made for itself.
    /// - Returns: 122 bits of HMAC-SHA256; nil in a process that does not hold the secret.
    public func pseudonym(ofInstallation installation: UniqueID) -> UniqueID? {
        guard let key = installationKey else { return nil }
        let code = Sodium.authenticationCode(of: Array(installation.description.utf8), key: key)
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        return UniqueID(
            high: word(code[0..<8]) & ~0xF000 | 0x8000,
            low: word(code[8..<16]) & ~(0b11 << 62) | 0b10 << 62
        )
    }
}
