internal import Database
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// Answers relays and auth on the bus.
struct GroupsDesk: Sendable {
    /// The most fixes of one request; a relay sends what came in a second.
    static let fixLimit = 10_000

    let database: Database
    let accounts: AccountBook
    let live: LiveNews
    let logger: Logger

    /// Answers relays' questions, and auth's for what is stored about someone and its word to forget
    /// them; what is none of these is refused.
    func answer(_ body: [UInt8], trace: TraceID) async -> [UInt8] {
        if let erasure = try? EraseAccount(decoding: body) {
            let isClean = await erase(erasure)
            return EraseAccountAnswer(trace: erasure.trace, isClean: isClean).encoded()
        }
        if let query = try? AccountDataQuery(decoding: body) {
            return AccountDataAnswer(trace: query.trace, body: await data(query)).encoded()
        }
        guard let question = try? GroupsRequest(decoding: body) else {
            return GroupsReply(
                requestID: UniqueID(high: 0, low: 0),
                trace: trace,
                body: .refused(.invalid)
            ).encoded()
        }
        return GroupsReply(to: question, await answer(question)).encoded()
    }

    /// Forgets an account and has every relay let go of it.
    ///
    /// - Returns: Whether nothing is stored any more; otherwise auth asks again.
    func erase(_ erasure: EraseAccount) async -> Bool {
        do throws(DatabaseError) {
            let changes = try await database.transaction { connection throws(DatabaseError) in
                try Erasure.erase(
                    erasure.accountID,
                    until: erasure.receivedAt + Erasure.markSeconds,
                    on: connection
                )
            }
            accounts.forget(erasure.accountID)
            await live.tell(changes, trace: erasure.trace)
            return true
        } catch {
            logger.error(
                "an erasure waits for the database",
                ["error": .text(error.description), "trace.id": .text("\(erasure.trace)")]
            )
            return false
        }
    }

    /// A page of what is stored about an account.
    func data(_ query: AccountDataQuery) async -> AccountDataAnswer.Body {
        guard let cursor = AccountExport.Cursor(query.cursor) else { return .unavailable }
        do throws(DatabaseError) {
            return try await database.withConnection { connection throws(DatabaseError) in
                try AccountExport.page(of: query.accountID, at: cursor, on: connection)
            }
        } catch {
            logger.error(
                "an account's data cannot be read",
                ["error": .text(error.description), "trace.id": .text("\(query.trace)")]
            )
            return .unavailable
        }
    }

    /// Answers a relay's request.
    func answer(_ request: GroupsRequest) async -> GroupsReply.Body {
        do {
            return try await body(request)
        } catch let error as DatabaseError {
            logger.error(
                "a request on the bus failed in the database",
                ["error": .text(error.description), "trace.id": .text("\(request.trace)")]
            )
            return .refused(error.isRetryable ? .unavailable : .failed)
        } catch {
            return .refused(.failed)
        }
    }

    private func body(_ request: GroupsRequest) async throws -> GroupsReply.Body {
        switch request.body {
        case .membership(let account, let group):
            return .membership(try await membership(account, group))
        case .views(let groups, let accounts):
            return .views(
                try await database.withConnection { connection throws(DatabaseError) in
                    try Gate.survey(
                        GroupViews.whole,
                        of: accounts,
                        [.uuidArray(groups)],
                        on: connection
                    )
                }
            )
        case .sweep(let accounts):
            return .versions(
                try await database.withConnection { connection throws(DatabaseError) in
                    try Gate.survey(GroupViews.versions, of: accounts, on: connection)
                }
            )
        case .storeFixes(let fixes):
            guard fixes.count <= Self.fixLimit, let fixes = FixBatch(fixes)?.fixes else {
                return .refused(.invalid)
            }
            try await database.transaction { connection throws(DatabaseError) in
                _ = try FixStore.storeEverywhere(fixes, on: connection)
            }
            return .stored
        }
    }

    private func membership(
        _ account: UniqueID,
        _ group: UniqueID
    ) async throws -> MembershipReply {
        do {
            return try await database.refusable { connection in
                let pass = try Gate.pass(account, to: group, on: connection)
                return MembershipReply(
                    isMember: true,
                    version: UInt64(clamping: pass.version),
                    allowsVotes: pass.kind.allowsVotes
                )
            }
        } catch is HTTPError {
            return MembershipReply(isMember: false)
        }
    }
}
