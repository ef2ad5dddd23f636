internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Schedule
internal import ServiceKit
internal import Transit
internal import VehiclePositionsKit

/// The `ridersim` program without its `main`.
public enum SimulatorProgram {
    static let help = """
        ridersim - rides trips of a GTFS schedule as riders would (-flag and --flag are the same)

          -url URL             the server (http://localhost:8080)
          -gtfs PATH|URL       the schedule the server has (Tests/Fixtures/fixture.zip)
          -trip ID             a trip to ride; may be repeated
          -random N            ride N trips that are under way now
          -start-date DATE     service date YYYYMMDD (the one that fits now)
          -interval 5s         between two fixes; uploads follow the server's interval
          -speed 10            metres per second along the shape
          -noise 8             metres of Gaussian jitter
          -offroute-after 0s   leave the shape by 300 m after this long; 0 for never
          -riders-per-trip 1   riders on each trip
          -duration 0          get off after this long; 0 to ride to the end of the shape
          -expect-end REASON   fail unless every ride ends so (arrived)
          -seed 1              decides every random choice
          -from-start          begin at the start of the shape, not where the vehicle is now
          -follow-schedule     move by the timetable instead of at -speed
          -repeat              take another ride after each, until stopped
          -installations FILE  keep the riders between runs
          -clock-offset 0s     how far the server's clock is ahead of this machine's
          -help                this text

        Exit code: 0 as expected, 1 when a ride ended otherwise, 2 when nothing could be ridden.
        """

    /// Runs the program until its rides are over or a signal stops it.
    ///
    /// - Parameter arguments: The command line, the program's name first.
    /// - Returns: The exit code.
    public static func run(arguments: [String]) async -> Int32 {
        let options: SimulatorOptions
        do throws(OptionFaults) {
            options = try SimulatorOptions(arguments: arguments)
        } catch {
            for sentence in error.sentences { say("ridersim: \(sentence)") }
            say("ridersim: see ridersim -help")
            return 2
        }
        if options.wantsHelp {
            say(help)
            return 0
        }
        let schedule: ScheduleIndex
        do {
            schedule = try await load(options.gtfs)
        } catch {
            say("ridersim: \(error)")
            return 2
        }
        let simulator = RiderSimulator(
            options: options,
            schedule: schedule,
            transport: URLSessionRideTransport.insecureForDevelopment(),
            clock: OffsetRideClock(offsetSeconds: options.clockOffsetSeconds),
            say: { say($0) }
        )
        let rides = Task { await simulator.run() }
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { rides.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        return await rides.value
    }

    private static func load(_ location: String) async throws -> ScheduleIndex {
        guard ScheduleDownload.isAddress(location) else {
            return try ScheduleLoader.load(path: location)
        }
        let zip = try await ScheduleDownload.bytes(location)
        return try ScheduleLoader.load(zip: zip, name: location)
    }

    /// A line at once, also into a pipe.
    private static func say(_ line: String) {
        var bytes = Array("\(line)\n".utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// The machine's clock, shifted as the server's is.
struct OffsetRideClock: RideClock {
    let offsetSeconds: Double

    var now: Date { Date().addingTimeInterval(offsetSeconds) }

    func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}
