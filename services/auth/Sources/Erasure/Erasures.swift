internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit

/// Forgets people and riders in every service (architecture, section 8).
///
/// An erasure is marked and its subject revoked in one transaction. Then each owner of data is
/// asked, and when all have confirmed in the same round auth deletes what itself knows, the mark
/// included. Who cannot be reached is asked again by ``sweep()`` until it is done.
struct Erasures: Sendable {
    /// Erasures in one sweep; the next one takes the rest.
    static let sweepLimit = 100

    /// Deletes what auth itself stores about a subject; runs in the last transaction.
    typealias Deletion =
        @Sendable (_ subject: UniqueID, _ connection: Connection) throws(DatabaseError) -> Void

    private let database: Database
    private let revocations: Revocations
    private let owners: [ErasureOwner]
    private let deletions: [Erasure.Kind: Deletion]
    private let logger: Logger

    /// Makes the erasures of a process.
    ///
    /// - Parameters:
    ///   - database: Auth's pool.
    ///   - revocations: Gets the subject's revocation.
    ///   - owners: Every other service that stores something about subjects.
    ///   - deletions: What auth itself deletes at the end, by kind.
    ///   - logger: Hears of erasures by their own ids.
    init(
        database: Database,
        revocations: Revocations,
        owners: [ErasureOwner],
        deletions: [Erasure.Kind: Deletion],
        logger: Logger
    ) {
        self.database = database
        self.revocations = revocations
        self.owners = owners
        self.deletions = deletions
        self.logger = logger
    }

    // MARK: - Marking

    /// Marks a subject for erasure and revokes its tokens; call ``carryOut(_:)`` after the commit.
    ///
    /// - Parameters:
    ///   - kind: Whom it is about.
    ///   - subject: The id of the account or rider.
    ///   - successor: The keyed hash of a rider's installation; nil for accounts.
    ///   - tokensUntil: When the last token of the subject expires by itself.
    ///   - now: The application clock.
    ///   - connection: Inside a transaction.
    /// - Returns: The erasure; of an earlier call when the subject is marked already.
    /// - Throws: `DatabaseError` when a statement fails.
    func begin(
        _ kind: Erasure.Kind,
        subject: UniqueID,
        successor: UniqueID? = nil,
        tokensUntil: UnixSeconds,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Erasure {
        let row = try connection.query(
            """
            INSERT INTO auth.erasures AS e (id, kind, subject, successor, tokens_until,
                requested_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (kind, subject) DO UPDATE SET
                tokens_until = GREATEST(e.tokens_until, excluded.tokens_until)
            RETURNING \(Erasure.columns)
            """,
            [
                .uuid(.random()), .text(kind.rawValue), .text(subject.description),
                SQLValue(successor), .timestamp(tokensUntil), .timestamp(now),
            ]
        ).one()
        let erasure = try Erasure(row)
        try revocations.revoke(
            subject: subject.description,
            until: erasure.tokensUntil,
            at: now,
            on: connection
        )
        return erasure
    }

    // MARK: - Carrying out

    /// Makes the revocation known, asks every owner and deletes when all have confirmed.
    ///
    /// - Parameter erasure: What ``begin(_:subject:successor:tokensUntil:at:on:)`` returned, after
    ///   its commit.
    /// - Returns: Whether nothing is stored any more; otherwise the sweeper goes on.
    func carryOut(_ erasure: Erasure) async -> Bool {
        await revocations.announce()
        return await finish(erasure)
    }

    /// Goes on with erasures that are not done, in any order: those that wait for an owner that is
    /// away for long must not keep the others from their turn.
    func sweep() async {
        let open: [Erasure]
        do throws(DatabaseError) {
            open = try await database.withConnection { connection throws(DatabaseError) in
                let rows = try connection.query(
                    """
                    SELECT \(Erasure.columns) FROM auth.erasures ORDER BY random() LIMIT $1
                    """,
                    [.int(Self.sweepLimit)]
                )
                var open: [Erasure] = []
                for row in rows { open.append(try Erasure(row)) }
                return open
            }
        } catch {
            logger.debug("erasures wait for the database", ["error": .text(error.description)])
            return
        }
        for erasure in open where !Task.isCancelled { _ = await finish(erasure) }
    }

    private func finish(_ erasure: Erasure) async -> Bool {
        var isBlocked = false
        for owner in owners where owner.kinds.contains(erasure.kind) {
            switch await owner.erase(erasure) {
            case .clean: break
            case .cleanButBlocked: isBlocked = true
            case .notYet:
                logger.info(
                    "an erasure waits for an owner",
                    ["erasure.id": .text("\(erasure.id)"), "erasure.owner": .text(owner.name)]
                )
                return false
            }
        }
        do throws(DatabaseError) {
            try await delete(erasure, isBlocked: isBlocked)
            logger.info("erasure done", ["erasure.id": .text("\(erasure.id)")])
            return true
        } catch {
            logger.error(
                "an erasure cannot be finished yet",
                ["erasure.id": .text("\(erasure.id)"), "error": .text(error.description)]
            )
            return false
        }
    }

    private func delete(_ erasure: Erasure, isBlocked: Bool) async throws(DatabaseError) {
        let deletion = deletions[erasure.kind]
        try await database.transaction { connection throws(DatabaseError) in
            // Another auth may have finished it meanwhile. A blocked installation comes back under
            // the id that it had, and that new rider is not meant.
            let count = try connection.execute(
                "DELETE FROM auth.erasures WHERE id = $1",
                [.uuid(erasure.id)]
            )
            guard count > 0 else { return }
            if isBlocked, let successor = erasure.successor {
                try connection.execute(
                    """
                    INSERT INTO auth.blocked_installations (successor) VALUES ($1)
                    ON CONFLICT DO NOTHING
                    """,
                    [.uuid(successor)]
                )
            }
            try deletion?(erasure.subject, connection)
        }
    }
}
