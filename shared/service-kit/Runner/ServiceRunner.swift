internal import FoundationEssentials
public import Telemetry

/// The common main of all services.
public enum ServiceRunner {
    /// How long requests in flight may take once the process was told to stop.
    ///
    /// Half of ``ServiceGroup/defaultShutdownTimeout``: the other half is for commit and bus.
    static let drainTime = Duration.seconds(5)

    /// Exit code for a command line that does not follow the usage.
    public static let usageExitCode: Int32 = 2

    /// Runs a service as this process: reads settings, builds, runs, stops, exits.
    ///
    /// Exit code 0 after a clean stop or a printed answer, 1 when the start or a part failed, 2
    /// for a wrong command line, 128 + n when a second signal n cut the stop short.
    ///
    /// - Parameter definition: The service.
    public static func main(_ definition: ServiceDefinition) async -> Never {
        StopSignals.block()
        definition.scheduling.apply()
        let code = await run(
            definition,
            arguments: Array(CommandLine.arguments.dropFirst()),
            environment: ProcessInfo.processInfo.environment,
            stops: StopSignals.stream(),
            output: RunnerOutput()
        )
        // No exit handlers: nothing is buffered, and one of a library could hang.
        exitAtOnce(code)
        preconditionFailure("unreachable")
    }

    /// Runs a service with everything handed in; for tests in one process.
    ///
    /// - Parameters:
    ///   - definition: The service.
    ///   - arguments: The command line without the program's name.
    ///   - environment: The environment.
    ///   - stops: Stop requests, each the number of a signal.
    ///   - output: Where text and log lines go.
    /// - Returns: The exit code.
    public static func run(
        _ definition: ServiceDefinition,
        arguments: [String],
        environment: [String: String],
        stops: AsyncStream<Int32>,
        output: RunnerOutput
    ) async -> Int32 {
        let table = definition.table
        let settings: Settings
        do {
            let line = try table.parse(
                arguments,
                beside: [CommandLineOption("help"), CommandLineOption("print-configuration")]
            )
            if line.has("help") {
                output.print(table.help(program: definition.name, summary: definition.summary))
                return 0
            }
            settings = try table.read(
                environment: environment,
                options: table.options(on: line)
            )
            if line.has("print-configuration") {
                output.print(settings.printed(table))
                for warning in settings.warnings { output.complain("warning: \(warning)\n") }
                return 0
            }
        } catch let error as UsageError {
            output.complain("\(definition.name): \(error); \(definition.name) --help lists all\n")
            return usageExitCode
        } catch {
            output.complain("\(definition.name): cannot start: \(error)")
            return 1
        }
        return await ServiceProcess(definition, settings, output).run(stops: stops)
    }
}

/// Where a service's text goes.
public struct RunnerOutput: Sendable {
    /// Takes what was asked for, such as the help.
    public let print: @Sendable (String) -> Void
    /// Takes sentences about a failed start.
    public let complain: @Sendable (String) -> Void
    /// Takes finished log lines without their line feed.
    public let log: @Sendable (LogLevel, String) -> Void

    /// Writes to standard output and standard error.
    public init() {
        print = { writeAll($0, to: 1) }
        complain = { writeAll($0, to: 2) }
        log = { _, line in Logger.writeToStandardError(line) }
    }

    /// Hands everything to one closure; for tests.
    public init(_ take: @escaping @Sendable (String) -> Void) {
        print = take
        complain = take
        log = { _, line in take(line + "\n") }
    }
}
