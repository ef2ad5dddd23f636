internal import Bus
internal import Database
internal import Messages
internal import Telemetry
internal import Transit

/// Answers other services about accounts: who has a handle, and what ids are called.
struct AccountLookup: Sendable {
    let database: Database
    let logger: Logger

    /// Answers a request on the bus; always with a message, so that the asker need not wait.
    func answer(_ request: BusRequest) async -> [UInt8] {
        guard let query = try? AccountQuery(decoding: request.body) else {
            logger.warning(
                "a question about accounts was not understood",
                ["bus.sender": .text(request.sender)]
            )
            return AccountAnswer(trace: request.trace, body: .unavailable).encoded()
        }
        return AccountAnswer(trace: query.trace, body: await answer(query.body)).encoded()
    }

    /// Answers a question that was understood.
    func answer(_ query: AccountQuery.Body) async -> AccountAnswer.Body {
        do throws(DatabaseError) {
            switch query {
            case .handle(let text):
                guard let key = Handle(text)?.key else { return .accounts([]) }
                return .accounts(
                    try await accounts(
                        "handle_key = $1 AND role = 'member' AND active",
                        [.text(key)]
                    )
                )
            case .ids(let ids):
                guard ids.count <= AccountQuery.idLimit else { return .unavailable }
                return .accounts(try await accounts("id = ANY ($1::uuid[])", [.uuidArray(ids)]))
            }
        } catch {
            logger.error("accounts cannot be looked up", ["error": .text(error.description)])
            return .unavailable
        }
    }

    private func accounts(
        _ condition: String,
        _ parameters: [SQLValue]
    ) async throws(DatabaseError) -> [AccountAnswer.Account] {
        try await database.withConnection { connection throws(DatabaseError) in
            let rows = try connection.query(
                """
                SELECT id, handle, name FROM auth.accounts
                WHERE \(condition) AND erasing_since IS NULL
                """,
                parameters
            )
            var accounts: [AccountAnswer.Account] = []
            for row in rows {
                accounts.append(
                    AccountAnswer.Account(
                        id: try row.uuid("id"),
                        handle: try row.optionalText("handle"),
                        name: try row.text("name")
                    )
                )
            }
            return accounts
        }
    }
}
