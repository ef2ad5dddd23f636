internal import Database
internal import ServiceKit
internal import Telemetry

/// What goes by itself: marks of erased accounts whose tokens have expired, circles that nobody can
/// enter again, and what a clock that was ahead has left.
struct Housekeeping: Sendable {
    /// How often it is looked after.
    static let interval = Duration.seconds(600)

    let database: Database
    let clock: ApplicationClock
    let logger: Logger

    /// Looks after it until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do throws(DatabaseError) {
                try await tidy()
            } catch {
                logger.debug("nothing is tidied", ["error": .text(error.description)])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Looks after it once.
    func tidy() async throws(DatabaseError) {
        let now = clock.now()
        try await database.withConnection { connection throws(DatabaseError) in
            try Erasure.forgetMarks(at: now, on: connection)
            try Departure.dropDeserted(on: connection)
            try connection.transaction { () throws(DatabaseError) in
                try ClockStep.settle(at: now * 1000, on: connection)
            }
        }
    }
}
