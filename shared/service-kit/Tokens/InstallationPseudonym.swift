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
        guard let key = markKey else { return nil }
        let code = Sodium.authenticationCode(of: Array(installation.description.utf8), key: key)
        return UniqueID(bytes: code.prefix(16)).map { hash in
            UniqueID(
                high: hash.high & ~0xF000 | 0x8000,
                low: hash.low & ~(0b11 << 62) | 0b10 << 62
            )
        }
    }
}
