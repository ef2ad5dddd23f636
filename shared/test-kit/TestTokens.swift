public import ServiceKit
public import Transit
public import Web

/// Tokens for tests, signed with a fixed secret.
public struct TestTokens: Sendable {
    /// The `JWT_SECRET` of test fleets.
    public static let secret = Secret("test-secret-of-thirty-two-bytes!!")

    private let clock: ApplicationClock
    private let ring: KeyRing

    /// Makes a source of tokens.
    ///
    /// - Parameters:
    ///   - clock: The clock of the services under test.
    ///   - secret: Their `JWT_SECRET`.
    ///   - generation: The key generation to sign with.
    public init(
        clock: ApplicationClock,
        secret: Secret = TestTokens.secret,
        generation: Int = 1
    ) {
        self.clock = clock
        ring = KeyRing(
            secret: secret,
            families: Set(KeyFamily.allCases),
            generation: generation
        )
    }

    /// A valid token of a role.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - subject: The account's or rider's id; random by default.
    ///   - lifetime: From now to expiry; negative for a token that has expired.
    ///   - handle: The member's handle.
    ///   - installation: The rider's installation.
    /// - Returns: The compact token.
    public func token(
        _ role: Role,
        subject: UniqueID = .random(),
        lifetime: Duration = .seconds(900),
        handle: String? = nil,
        installation: InstallationFacts? = nil
    ) -> String {
        TokenSigner(ring).sign(
            TokenClaims(
                subject: subject.description,
                role: role,
                issuedAt: clock.now(),
                lifetime: lifetime,
                handle: handle,
                installation: installation
            )
        )
    }

    /// A verifier that holds some families, with the same clock and secret.
    public func verifier(_ families: Set<KeyFamily> = Set(KeyFamily.allCases)) -> TokenVerifier {
        TokenVerifier(
            ring: KeyRing(secret: Self.secret, families: families, generation: ring.generation),
            clock: clock
        )
    }

    /// Any header and payload, signed with a derived key; for forgeries.
    public static func signed(
        header: String,
        payload: String,
        key id: KeyID,
        secret: Secret = TestTokens.secret
    ) -> String {
        CompactToken.make(
            header: header,
            payload: payload,
            key: KeyRing.derivedKey(id, secret: secret)
        )
    }

    /// Any payload, signed with the secret itself as `JWT_ACCEPT_RAW` admits.
    public static func raw(
        header: String = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}",
        payload: String,
        secret: Secret = TestTokens.secret
    ) -> String {
        CompactToken.make(header: header, payload: payload, key: secret.bytes)
    }
}
