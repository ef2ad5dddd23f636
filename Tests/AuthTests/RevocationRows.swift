import Database
import ServiceKit
import Synchronization
import Transit

/// The revocations of a database, read when the test says so.
final class RevocationRows: Sendable {
    private struct Known {
        var tokens: Set<String> = []
        var subjects: [String: UnixSeconds] = [:]
    }

    private let database: Database
    private let known = Mutex(Known())

    init(_ database: Database) { self.database = database }

    var check: RevocationCheck {
        { [self] claims in
            known.withLock { known in
                if let id = claims.tokenID, known.tokens.contains(id) { return .revoked }
                let digest = SubjectDigest.text(of: claims.subject)
                guard let revokedAt = known.subjects[digest] else { return .valid }
                return (claims.issuedAt ?? 0) <= revokedAt ? .revoked : .valid
            }
        }
    }

    func look() async {
        let rows = try? await database.withConnection { connection throws(DatabaseError) in
            try connection.query("SELECT kind, value, revoked_at FROM auth.revocations")
        }
        guard let rows else { return }
        var new = Known()
        for row in rows {
            guard let kind = try? row.text("kind"), let value = try? row.text("value"),
                let revokedAt = try? row.timestamp("revoked_at")
            else { continue }
            if kind == "token" { new.tokens.insert(value) } else { new.subjects[value] = revokedAt }
        }
        known.withLock { $0 = new }
    }
}
