internal import Database
public import Schedule
internal import Synchronization
public import Telemetry

/// Keeps a process on the schedule that the whole fleet uses.
///
/// The feed service's builder fetches, checks and archives schedules; everybody else swaps to what is in the
/// archive. Before there is one, a process loads the configured schedule itself.
public final class ScheduleFollower: Sendable {
    /// How often the archive is looked at: all processes are on one schedule within this time.
    static let period = Duration.seconds(5)

    /// Where the schedule in use is kept.
    public let source: ScheduleSource
    private let archive: ScheduleArchive
    private let location: String
    private let logger: Logger
    /// The archived schedule in use; nil while it is one that was loaded here.
    private let hash = Mutex<[UInt8]?>(nil)

    /// Makes a follower that has loaded nothing.
    ///
    /// - Parameters:
    ///   - source: Loads what is not in the archive.
    ///   - archive: The fleet's schedules.
    ///   - location: The path or address that is configured.
    ///   - logger: Hears where the schedule came from.
    public init(
        source: ScheduleSource,
        archive: ScheduleArchive,
        location: String,
        logger: Logger
    ) {
        self.source = source
        self.archive = archive
        self.location = location
        self.logger = logger
    }

    /// The schedule in use, or nil before the first one.
    public var current: LoadedSchedule? { source.current }

    /// Loads a first schedule.
    ///
    /// A file that can be read is taken as it is. An address is asked for only when the archive has nothing
    /// from it: a start needs no agency. When the configured place has nothing, the archive has the word
    /// wherever it is from.
    ///
    /// - Throws: ``ScheduleError`` of the configured place when there is no other either.
    public func start() async throws(ScheduleError) {
        let isAddress = location.hasPrefix("http://") || location.hasPrefix("https://")
        if isAddress, await take(onlyFrom: location) { return }
        do throws(ScheduleError) {
            try await source.load()
        } catch {
            guard await take() else { throw error }
            logger.warning(
                "the schedule cannot be loaded, going on from the archive",
                ["error": .text(error.description)]
            )
        }
    }

    /// Swaps to the archive's schedule when it is another one.
    public func look() async { _ = await take() }

    /// Looks until the task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.period)
            await look()
        }
    }

    /// Says that an archived schedule is in use already.
    public func isOn(_ contentHash: [UInt8]) { hash.withLock { $0 = contentHash } }

    /// - Returns: Whether the archive's schedule is in use now.
    private func take(onlyFrom place: String? = nil) async -> Bool {
        do throws(DatabaseError) {
            guard let entry = try await archive.active() else { return false }
            if hash.withLock({ $0 }) == entry.contentHash { return true }
            if let place, entry.source != place { return false }
            guard let bytes = try await archive.bytes(of: entry) else {
                logger.error("the archived schedule is not whole")
                return false
            }
            return await use(bytes, entry)
        } catch {
            logger.debug("the schedule's archive is away", ["error": .text(error.description)])
            return false
        }
    }

    private func use(_ bytes: [UInt8], _ entry: ScheduleArchive.Entry) async -> Bool {
        do throws(ScheduleError) {
            try await source.use(bytes, from: entry.source)
        } catch {
            logger.error("the archived schedule is none", ["error": .text(error.description)])
            return false
        }
        hash.withLock { $0 = entry.contentHash }
        logger.info("schedule taken from the archive", ["schedule.epoch": .integer(entry.epoch)])
        return true
    }
}
