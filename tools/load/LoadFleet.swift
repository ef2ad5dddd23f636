internal import AuthService
internal import FeedService
internal import FoundationEssentials
internal import ServiceKit
internal import Telemetry
internal import TestKit
internal import Transit
internal import VerifierService
internal import Web

/// The services as processes of their own over a throwaway PostgreSQL, for load and for drills: any of them
/// can be killed, frozen and started again.
public final class LoadFleet: Sendable {
    private static let template = FleetGround.template(
        "load",
        [Auth.schema, Verifier.schema, Feed.schema]
    )

    /// The schedule that all trips run on.
    public let schedule: LoadSchedule
    /// The owner's URL of the database.
    public let databaseURL: String
    /// A second database of the same schema, for a peer that writes without us.
    public let peerURL: String
    private let postgres: ThrowawayPostgres
    private let ground: FleetGround
    private let schedulePath: String

    /// Makes the database and the schedule; starts nothing else.
    ///
    /// - Parameters:
    ///   - programs: The folder of the executables.
    ///   - trips: How many trips the schedule has.
    /// - Throws: When PostgreSQL cannot be started.
    public init(programs: String, trips: Int) async throws {
        schedule = LoadSchedule(trips: trips, now: Timestamps.nowMilliseconds() / 1000)
        postgres = ThrowawayPostgres(settings: ["shared_buffers=256MB", "max_wal_size=4GB"])
        databaseURL = try await postgres.database(Self.template).url
        peerURL = try await postgres.database(Self.template).url
        ground = try FleetGround("load", programs: programs, databaseURL: databaseURL)
        schedulePath = ground.folder + "/gtfs.zip"
        try Data(try schedule.zip()).write(to: URL(filePath: schedulePath))
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - service: The executable's name.
    ///   - instance: The process's name in the fleet.
    ///   - settings: Variables beside the fleet's own.
    /// - Returns: The process; it may not be ready yet.
    /// - Throws: When there is no free port or the program does not start.
    public func start(
        _ service: String,
        _ instance: String,
        _ settings: [String: String] = [:]
    ) throws -> LoadProcess {
        let own = [
            "GTFS_STATIC_URL": schedulePath,
            // Simulated riders are no independent witnesses, which is not what is measured here.
            "RIDER_WITNESS_CHECKS": "off",
        ]
        return try ground.start(service, instance, own.merging(settings) { $1 })
    }

    /// Waits until a process says that it can do its job.
    ///
    /// - Throws: `Late` with its log when it does not within 30 s.
    public func waitUntilReady(_ process: LoadProcess) async throws {
        try await ground.waitUntilReady(process)
    }

    /// Fetches something over HTTP from this machine.
    ///
    /// - Returns: The status and the body.
    public func get(_ port: Int, _ path: String) async throws -> (Int, [UInt8]) {
        let answer = try await ground.client.get("http://127.0.0.1:\(port)\(path)")
        return (answer.status, answer.body)
    }

    /// Riders with tokens, spread over the trips.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - age: Seconds before now at which their first point is measured.
    /// - Returns: The riders, none of whom rides yet.
    public func riders(_ count: Int, firstPointAge age: Int64) -> [LoadRider] {
        Self.riders(count, on: schedule, signedWith: FleetGround.secret, firstPointAge: age)
    }

    /// Riders of a fleet that was started otherwise.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - schedule: What their trips run on.
    ///   - secret: The fleet's `JWT_SECRET`.
    ///   - age: Seconds before now at which their first point is measured.
    /// - Returns: The riders, none of whom rides yet.
    public static func riders(
        _ count: Int,
        on schedule: LoadSchedule,
        signedWith secret: String,
        firstPointAge age: Int64
    ) -> [LoadRider] {
        let now = Timestamps.nowMilliseconds() / 1000
        let ring = KeyRing(secret: Secret(secret), families: [.rider], generation: 1)
        let signer = TokenSigner(ring)
        return (0..<count).map { index in
            let id = UniqueID.random()
            let claims = TokenClaims(
                subject: id.description,
                role: .rider,
                issuedAt: now,
                lifetime: .seconds(86_400)
            )
            return LoadRider(
                id: id,
                token: signer.sign(claims),
                trip: schedule.trips[index % schedule.trips.count],
                firstPoint: now - age
            )
        }
    }
}

/// Why a load cannot be made.
public struct LoadFailure: Error, CustomStringConvertible {
    /// The reason.
    public let description: String

    /// Makes a failure.
    public init(_ description: String) { self.description = description }
}
