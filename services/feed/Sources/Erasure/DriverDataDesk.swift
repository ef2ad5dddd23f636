internal import Database
internal import Messages
internal import Telemetry
internal import Transit

/// Answers auth on the bus: what is stored about a driver, and the word to forget one.
struct DriverDataDesk: Sendable {
    /// How long one call may take points' drivers away; auth waits 3 s, and asks again for the rest.
    static let patience = Duration.seconds(2)
    /// Between two looks for marks that nobody needs any more.
    static let markInterval = Duration.seconds(3600)

    let database: Database
    let now: @Sendable () -> UnixSeconds
    let logger: Logger

    /// Answers a request; what is neither is answered with nothing, which nobody understands.
    func answer(_ body: [UInt8]) async -> [UInt8] {
        if let erasure = try? EraseAccount(decoding: body) {
            let isClean = await erase(erasure)
            return EraseAccountAnswer(trace: erasure.trace, isClean: isClean).encoded()
        }
        if let query = try? AccountDataQuery(decoding: body) {
            return AccountDataAnswer(trace: query.trace, body: await data(query)).encoded()
        }
        return []
    }

    /// Forgets a driver; idempotent.
    ///
    /// - Returns: Whether no row names the account any more; otherwise auth asks again.
    func erase(_ erasure: EraseAccount) async -> Bool {
        let id = erasure.accountID
        let deadline = ContinuousClock.now + Self.patience
        do throws(DatabaseError) {
            try await database.transaction { connection throws(DatabaseError) in
                try DriverErasure.begin(
                    id,
                    until: erasure.receivedAt + DriverErasure.markSeconds,
                    on: connection
                )
            }
            while ContinuousClock.now < deadline {
                let isDone = try await database.transaction { connection throws(DatabaseError) in
                    try DriverErasure.anonymise(pointsOf: id, on: connection)
                }
                if isDone { return true }
            }
            return false
        } catch {
            log("an erasure waits for the database", error, erasure.trace)
            return false
        }
    }

    /// A part of what is stored about a driver.
    func data(_ query: AccountDataQuery) async -> AccountDataAnswer.Body {
        let cursor = DriverExport.Cursor(query.cursor)
        guard cursor != nil || query.cursor.isEmpty else { return .unavailable }
        do throws(DatabaseError) {
            let part = try await database.transaction { connection throws(DatabaseError) in
                try DriverExport.part(
                    of: query.accountID,
                    after: cursor,
                    on: connection
                )
            }
            return .part(part.json, next: part.next)
        } catch {
            log("a driver's data cannot be read", error, query.trace)
            return .unavailable
        }
    }

    /// Forgets old marks until the task is cancelled.
    func sweepMarks() async {
        while !Task.isCancelled {
            do throws(DatabaseError) {
                let now = now()
                try await database.withConnection { connection throws(DatabaseError) in
                    try DriverErasure.forgetMarks(at: now, on: connection)
                }
            } catch {
                logger.debug("marks stay", ["error": .text(error.description)])
            }
            try? await Task.sleep(for: Self.markInterval)
        }
    }

    private func log(_ sentence: String, _ error: DatabaseError, _ trace: TraceID) {
        logger.error(
            sentence,
            ["error": .text(error.description), "trace.id": .text("\(trace)")]
        )
    }
}
