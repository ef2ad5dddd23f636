internal import Database
internal import ServiceKit
internal import Synchronization
internal import Transit
internal import Web

/// The keys that this replica knows, and who may call by them.
///
/// A key is looked up in memory, so that a reader of the feed waits for no database. When the
/// database is away the keys that were known go on counting.
final class APIKeyBoard: Authorizer {
    /// What is known of a key.
    struct Entry: Sendable, Equatable {
        let id: Int64
        let isActive: Bool
    }

    private struct State {
        /// By digest; nil before the first look.
        var entries: [String: Entry]?
        /// When keys were used that were not noted in their rows yet.
        var uses: [Int64: UnixSeconds] = [:]
        var looked: (@Sendable (_ isRevoked: (_ key: String) -> Bool) -> Void)?
    }

    private let now: @Sendable () -> UnixSeconds
    private let state = Mutex(State())

    /// Makes a board that knows no keys yet.
    init(now: @escaping @Sendable () -> UnixSeconds) { self.now = now }

    /// Admits holders of an active key in `X-API-Key` (spec 1.9).
    func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
        guard !(request.headers.first("X-API-Key") ?? "").isEmpty else {
            throw .apiKey("missing API key", code: "api_key.missing")
        }
        guard let digest = request.apiKeyDigest else { throw .invalidAPIKey }
        let now = now()
        try state.withLock { state throws(HTTPError) in
            guard let entries = state.entries else { throw HTTPError.apiKeysUnknown }
            guard let entry = entries[digest] else { throw HTTPError.invalidAPIKey }
            guard entry.isActive else {
                throw HTTPError.apiKey("inactive API key", code: "api_key.inactive")
            }
            state.uses[entry.id] = now
        }
        // A key is no account: there is nobody to name.
        return nil
    }

    // MARK: - Rows

    /// Reads every key.
    func look(_ database: Database) async throws(DatabaseError) {
        let entries = try await database.withConnection { connection throws(DatabaseError) in
            try APIKeyStore.known(on: connection)
        }
        let looked = state.withLock { state in
            state.entries = entries
            return state.looked
        }
        looked? { entries[$0]?.isActive != true }
    }

    /// Calls with each look what tells a key that does not count, by its digest.
    func onLook(_ looked: @escaping @Sendable (_ isRevoked: (_ key: String) -> Bool) -> Void) {
        state.withLock { $0.looked = looked }
    }

    /// Notes in the rows which keys were used since the last time; when that fails, the next time.
    func noteUses(_ database: Database) async throws(DatabaseError) {
        let uses = state.withLock { state in
            defer { state.uses = [:] }
            return state.uses
        }
        guard !uses.isEmpty else { return }
        do throws(DatabaseError) {
            try await database.transaction { connection throws(DatabaseError) in
                try APIKeyStore.noteUse(uses, on: connection)
            }
        } catch {
            state.withLock { $0.uses.merge(uses) { newer, _ in newer } }
            throw error
        }
    }
}

extension HTTPRequest {
    /// The digest of the caller's API key; nil without one, or with what cannot be one.
    var apiKeyDigest: String? { headers.first("X-API-Key").flatMap { OpaqueKey($0) }?.digest }
}

extension HTTPError {
    fileprivate static func apiKey(_ message: String, code: String) -> HTTPError {
        HTTPError(status: 401, code: code, message: message, challenge: .apiKey)
    }

    fileprivate static let invalidAPIKey = apiKey("invalid API key", code: "api_key.invalid")

    /// 503 while no key was read yet: nobody is let in unseen.
    fileprivate static let apiKeysUnknown = HTTPError(
        status: 503,
        code: "api_key.unavailable",
        message: "API keys cannot be checked now, try again",
        retryAfter: 2
    )
}
