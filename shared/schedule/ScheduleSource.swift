internal import Synchronization
public import Telemetry
public import Transit

/// A schedule in use, and where it came from.
public struct LoadedSchedule: Sendable {
    /// The schedule.
    public let index: ScheduleIndex
    /// The path or address it was loaded from.
    public let source: String
    /// FNV-1a over the zip's bytes, 16 hexadecimal digits.
    public let contentHash: String
    /// When it was loaded.
    public let loadedAt: UnixSeconds
}

/// Keeps the schedule of one path or address current.
///
/// The schedule is swapped as a whole; who holds the one before keeps it. A failed refresh changes
/// nothing. Loading runs on a thread of its own, never on the cooperative pool.
public final class ScheduleSource: Sendable {
    /// The path or address that is configured.
    public let location: String
    private let fetch: @Sendable (_ url: String) async throws -> [UInt8]
    private let now: @Sendable () -> UnixSeconds
    private let sleep: @Sendable (Duration) async throws -> Void
    private let logger: Logger
    private let state = Mutex<LoadedSchedule?>(nil)

    /// Makes a source that has loaded nothing yet.
    ///
    /// - Parameters:
    ///   - location: An `http://` or `https://` address, or a path.
    ///   - fetch: Gets the bytes behind an address.
    ///   - now: The application's clock.
    ///   - logger: Told of swaps and failures.
    ///   - sleep: Waits between refreshes.
    public init(
        location: String,
        fetch: @escaping @Sendable (_ url: String) async throws -> [UInt8],
        now: @escaping @Sendable () -> UnixSeconds,
        logger: Logger,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.location = location
        self.fetch = fetch
        self.now = now
        self.logger = logger
        self.sleep = sleep
    }

    /// The schedule in use, or nil before the first load.
    public var current: LoadedSchedule? { state.withLock { $0 } }

    /// Loads the schedule and puts it to use.
    ///
    /// - Throws: ``ScheduleError``; the schedule in use stays.
    public func load() async throws(ScheduleError) {
        try await use(try await fetched(), from: location)
    }

    /// Puts a schedule to use that somebody else fetched.
    ///
    /// - Parameters:
    ///   - bytes: The zip.
    ///   - place: The path or address that it came from.
    ///   - keepsRiders: Whether one that no rider can ride by is refused where the one in use has trips for
    ///     them: an agency publishes half a feed, or an old one, now and then.
    /// - Throws: ``ScheduleError``; the schedule in use stays.
    public func use(
        _ bytes: [UInt8],
        from place: String,
        keepsRiders: Bool = false
    ) async throws(ScheduleError) {
        let hash = Self.text(FNV1a.hash(bytes))
        if let current, current.contentHash == hash {
            logger.debug("schedule unchanged", ["schedule.hash": .text(hash)])
            return
        }
        let name = ScheduleLoader.fileName(place)
        let result = await WorkerThread.run { () -> Result<ScheduleIndex, ScheduleError> in
            Result { () throws(ScheduleError) in try ScheduleLoader.load(zip: bytes, name: name) }
        }
        let index = try result.get()
        let faults = index.outlook.shortcomings(on: index.serviceDate(at: now()))
        if keepsRiders, let fault = faults.first, let inUse = current?.index,
            inUse.outlook.shortcomings(on: inUse.serviceDate(at: now())).isEmpty
        {
            throw ScheduleError(source: name, reason: "\(fault); the schedule in use is better")
        }
        for fault in faults {
            logger.warning(
                "riders can do nothing with this schedule",
                ["schedule.source": .text(place), "error": .text(fault)]
            )
        }
        let loaded = LoadedSchedule(
            index: index,
            source: place,
            contentHash: hash,
            loadedAt: now()
        )
        state.withLock { $0 = loaded }
        logger.info(
            "schedule loaded",
            [
                "schedule.hash": .text(hash), "schedule.trips": .integer(index.tripIDs.count),
                "schedule.zone": .text(index.timeZone.name),
            ]
        )
    }

    /// Loads the schedule again; on failure the one in use stays and the reason is logged.
    public func refresh() async {
        do throws(ScheduleError) {
            try await load()
        } catch {
            logger.warning("schedule refresh failed", ["error": .text(error.description)])
        }
    }

    /// Refreshes until the task is cancelled.
    ///
    /// - Parameter period: The wait before each refresh.
    public func run(every period: Duration) async {
        while !Task.isCancelled {
            do { try await sleep(period) } catch { return }
            await refresh()
        }
    }

    /// The bytes of the zip as they are now at its place; nothing is put to use.
    ///
    /// - Throws: ``ScheduleError`` when they cannot be had.
    public func fetched() async throws(ScheduleError) -> [UInt8] {
        guard location.hasPrefix("http://") || location.hasPrefix("https://") else {
            let path = location
            let result = await WorkerThread.run { () -> Result<[UInt8], ScheduleError> in
                Result { () throws(ScheduleError) in try ScheduleLoader.bytes(path: path) }
            }
            return try result.get()
        }
        do {
            return try await fetch(location)
        } catch let error as ScheduleError {
            throw error
        } catch {
            throw ScheduleError(source: location, reason: "it cannot be fetched: \(error)")
        }
    }

    private static func text(_ hash: UInt64) -> String {
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
