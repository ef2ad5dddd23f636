internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// Answers what operators ask: counters of this process, and rides of the whole fleet from their rows.
struct AdminAnswers: Sendable {
    /// The largest page of rides (spec 2.12); ingest asks for no more.
    static let pageLimit = 200

    let instance: String
    let pool: Database
    let book: RideBook
    let circumstances: @Sendable () -> Circumstances
    /// The schedule in use; nil before the first.
    let schedule: @Sendable () -> VerifierStatusReply.Schedule?
    let logger: Logger

    /// A page of all rides, also those of slots that others own.
    func rides(_ query: RideListQuery) async -> RideReply.Body {
        let page = RideListQuery(
            status: query.status,
            limit: min(max(1, query.limit), Self.pageLimit),
            offset: query.offset
        )
        return await answer { connection throws(DatabaseError) in
            .rides(try RideArchive.page(page, on: connection))
        }
    }

    /// One ride with its points and why they counted as they did.
    func ride(_ query: RideDetailQuery) async -> RideReply.Body {
        await answer { connection throws(DatabaseError) in
            guard let ride = try RideArchive.detail(of: query.rideID, on: connection) else {
                return .refused(RideRefusal(.rideNotFound))
            }
            return .ride(ride)
        }
    }

    /// What this process owns and publishes, with the riders of the whole fleet.
    func status() async -> RideReply.Body {
        let slots = book.ownedSlots.count
        let active = book.rideCount
        let published = publishableTrips
        let schedule = schedule()
        let instance = instance
        return await answer { connection throws(DatabaseError) in
            let riders = try RideArchive.riders(on: connection)
            return .status(
                VerifierStatusReply(
                    instance: instance,
                    schedule: schedule,
                    ownedSlots: slots,
                    activeRides: active,
                    publishableTrips: published,
                    riders: riders.all,
                    trustedRiders: riders.trusted,
                    blockedRiders: riders.blocked
                )
            )
        }
    }

    /// Trips that riders publish now and no trusted source covers.
    private var publishableTrips: Int {
        let now = circumstances()
        return estimates(
            of: book.allRides.map(\.member),
            at: now.now,
            thresholds: now.thresholds
        )
        .count { !now.trusted.covers($0.trip, at: now.now, thresholds: now.thresholds) }
    }

    private func answer(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> RideReply.Body
    ) async -> RideReply.Body {
        do throws(DatabaseError) {
            return try await pool.withConnection(body)
        } catch {
            guard error.kind == .statement, !error.isRetryable else {
                return .refused(.unavailable)
            }
            logger.error("rides cannot be read", ["error": .text(error.description)])
            return .refused(RideRefusal(.failed))
        }
    }
}
