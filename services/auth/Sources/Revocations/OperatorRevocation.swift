public import Database
public import Transit

/// What an operator may revoke by hand.
public enum RevocationTarget: Sendable, Equatable {
    /// One token, by its `jti`.
    case token(String)
    /// Every token of a rider.
    case rider(UniqueID)
    /// Every token of the rider behind an installation.
    case installation(UniqueID)
}

/// What became of a revocation by hand.
public enum RevocationOutcome: Sendable, Equatable {
    /// It is void.
    case revoked
    /// It is void, but no session of an account has such a token: a rider's, or an id that is mistyped.
    case revokedUnseen
    /// There is no such rider or installation; nothing was revoked.
    case nobody
}

extension Auth {
    /// Revokes for an operator; the services find the row by themselves.
    ///
    /// A rider may register again and then gets a valid token of the same rider.
    ///
    /// - Parameters:
    ///   - target: What to revoke.
    ///   - now: The application clock.
    ///   - database: A pool in auth's role.
    /// - Returns: Whether it is known whose it was.
    /// - Throws: `DatabaseError`; nothing was revoked then.
    public static func revoke(
        _ target: RevocationTarget,
        at now: UnixSeconds,
        in database: Database
    ) async throws(DatabaseError) -> RevocationOutcome {
        let revocations = Revocations()
        return try await database.transaction {
            connection throws(DatabaseError) -> RevocationOutcome in
            let rider: RiderRows.Rider?
            switch target {
            case .token(let id):
                // When it expires stands in the token alone, so the longest life is assumed.
                let until = now + RegisterRider.longestLifetime.components.seconds
                try revocations.revoke(token: id, until: until, at: now, on: connection)
                let isSeen = try connection.query(
                    "SELECT EXISTS (SELECT FROM auth.session_tokens WHERE access_id = $1)",
                    [.text(id)]
                ).one()
                return try isSeen.bool(0) ? .revoked : .revokedUnseen
            case .rider(let id): rider = try RiderRows.rider(id, on: connection)
            case .installation(let id):
                rider = try RiderRows.rider(ofInstallation: id, on: connection)
            }
            guard let rider else { return .nobody }
            try revocations.revoke(
                subject: rider.id.description,
                until: rider.lastTokenEnd(at: now),
                at: max(now, rider.lastSeenAt),
                on: connection
            )
            return .revoked
        }
    }
}
