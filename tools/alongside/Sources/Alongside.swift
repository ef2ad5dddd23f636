internal import CLinux
internal import Glibc
internal import ServiceKit
internal import Telemetry

/// The `alongside` program without its `main`.
public enum Alongside {
    static let usage = """
        alongside - run and operate Alongside

          up [--demo] [--<setting> VALUE]...  the whole product on one port; --help lists all
          migrate [--logins FOLDER]          bring DATABASE_URL up to this version, and let each
                                             service log in as `secrets` says
          secrets FOLDER [--database HOST]   make the files that hold what each service must know,
                                             where they are missing
          doctor                             who lives and owns what, and what to do where
                                             something is wrong (exit code 1)
          replay SCHEDULE TRACE [--trip ID]… [--date YYYYMMDD] [--points] [--whole]
                                             what the rules say of recorded vehicles
          schedule check FILE|URL            load a schedule and say what is in it
          schedule rebase IN OUT --today [--time HH:MM]
                                             a copy whose trips run now and every day
          backup FOLDER                      the database and the keys of the `up` that runs here
          restore FOLDER                     such a backup, before `up`, into a new data folder
          user add --role admin|driver --email ADDRESS [--name NAME] [--generate]
                                             an account of staff; the password comes from
                                             standard input, or is made and shown once
          keys derive                        each service's verification keys, from JWT_SECRET
          revoke token|rider|installation ID make a token, or all of a rider, void
          help                               this text

        doctor, user add and revoke work on DATABASE_URL; without it on the private database of the
        `up` that runs on ALONGSIDE_DATA (.alongside).
        """

    /// Runs a command on the calling thread, which must be the main thread.
    ///
    /// - Parameters:
    ///   - arguments: What follows the program's name.
    ///   - environment: The process's environment.
    /// - Returns: The exit code: 0, 1 for a failure, 2 for wrong usage.
    public static func run(arguments: [String], environment: [String: String]) -> Int32 {
        // Before any thread is made, so that all inherit the mask.
        var signals = SignalWait()
        do throws(OperationError) {
            switch (arguments.first, Array(arguments.dropFirst())) {
            case ("up", let rest):
                return try up(rest, environment, &signals)
            case ("migrate", []):
                try migrate(environment)
            case ("migrate", let rest) where rest.first == "--logins" && rest.count == 2:
                try migrate(environment, logins: try Logins(folder: rest[1]))
            case ("secrets", let rest):
                try SecretsCommand(arguments: rest, try settings(environment)).run(say: say)
            case ("doctor", []):
                let diagnosis = try DoctorCommand.examine(environment: environment)
                say(diagnosis.text)
                return diagnosis.isWell ? 0 : 1
            case ("backup", let rest) where rest.count == 1:
                try BackupCommand.backup(to: rest[0], environment)
            case ("restore", let rest) where rest.count == 1:
                try BackupCommand.restore(from: rest[0], environment)
            case ("replay", let rest):
                say(try ReplayCommand.run(try ReplayCommand.Options(rest)))
            case ("schedule", let rest) where rest.first == "check" && rest.count == 2:
                say(try ScheduleCommand.check(rest[1]))
            case ("schedule", let rest) where rest.first == "rebase" && rest.count >= 4:
                try rebase(rest)
            case ("user", let rest) where rest.first == "add":
                try UserCommand(arguments: Array(rest.dropFirst()))
                    .run(environment: environment, say: say)
            case ("keys", ["derive"]):
                say(try KeysCommand.derive(try settings(environment)))
            case ("revoke", let rest) where rest.count == 2:
                say(try RevokeCommand.run(rest[0], rest[1], environment))
            case ("help", _), ("--help", _), ("-help", _), ("-h", _):
                say(usage)
            default:
                complain(fault(arguments))
                return 2
            }
            return 0
        } catch {
            complain("alongside: \(error)")
            return 1
        }
    }

    /// What is wrong with a command line that no command takes.
    static func fault(_ arguments: [String]) -> String {
        guard let command = arguments.first else { return usage }
        var lines: [Substring] = []
        var isOfCommand = false
        for line in usage.split(separator: "\n").dropFirst() where line.hasPrefix("  ") {
            let words = line.dropFirst(2)
            if words.first != " " {
                isOfCommand = words.split(separator: " ").first == command[...]
            }
            if isOfCommand { lines.append(line) }
        }
        guard !lines.isEmpty else {
            return "alongside: there is no command \"\(command)\"; alongside help lists all"
        }
        return "alongside: \(command) is used so:\n" + lines.joined(separator: "\n")
    }

    private static func up(
        _ arguments: [String],
        _ environment: [String: String],
        _ signals: inout SignalWait
    ) throws(OperationError) -> Int32 {
        let table = UpSettings.table
        let line: CommandLineArguments
        do {
            line = try table.parse(
                arguments,
                beside: ["demo", "help", "print-configuration"].map { CommandLineOption($0) }
            )
        } catch {
            complain("alongside up: \(error); alongside up --help lists all")
            return 2
        }
        if line.has("help") {
            let summary = """
                Runs the whole product on one port. With --demo it brings a schedule and simulated riders.

                What follows are the settings of up itself; those of the services (docs/reference/settings.md) are
                handed on.
                """
            say(table.help(program: "alongside up [--demo]", summary: summary))
            return 0
        }
        let options = table.options(on: line)
        if line.has("print-configuration") {
            say(try settings(environment, options).printed(table))
            return 0
        }
        let given = environment.merging(options) { _, option in option }
        let checked = try Preflight.check(given, isDemo: line.has("demo"))
        for warning in checked.warnings { say("warning: \(warning)") }
        let up = UpCommand(
            checked.settings,
            environment: given,
            isDemo: line.has("demo"),
            say: say
        )
        try up.run(signals: &signals)
        return 0
    }

    private static func settings(
        _ environment: [String: String],
        _ options: [String: String] = [:]
    ) throws(OperationError) -> Settings {
        do {
            return try UpSettings.table.read(environment: environment, options: options)
        } catch {
            throw OperationError("\(error)")
        }
    }

    private static func migrate(
        _ environment: [String: String],
        logins: Logins? = nil
    ) throws(OperationError) {
        guard let url = try UpSettings.owner(environment) else {
            throw OperationError("DATABASE_URL is missing: set it to the database's owner")
        }
        let work: @Sendable () async throws -> [String] = {
            let applied = try await Fleet.migrate(url)
            try await logins?.allow(in: url)
            return applied
        }
        switch BlockingWait.run(work) {
        case .success(let applied):
            say(applied.isEmpty ? "nothing to do" : applied.joined(separator: "\n"))
        case .failure(let error):
            throw error as? OperationError ?? OperationError("\(error)")
        }
    }

    private static func rebase(_ rest: [String]) throws(OperationError) {
        var options = Array(rest[3...])
        guard let today = options.firstIndex(of: "--today") else {
            throw OperationError("schedule rebase needs --today")
        }
        options.remove(at: today)
        var secondsOfDay: Int?
        if !options.isEmpty {
            guard options.count == 2, options[0] == "--time", let time = clockTime(options[1])
            else {
                throw OperationError("schedule rebase takes --today and --time HH:MM")
            }
            secondsOfDay = time
        }
        try ScheduleCommand.rebase(
            from: rest[1],
            to: rest[2],
            now: ApplicationClock.live().now(),
            secondsOfDay: secondsOfDay
        )
        say(try ScheduleCommand.check(rest[2]))
    }

    private static func clockTime(_ text: String) -> Int? {
        let parts = text.split(separator: ":").map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1],
            (0...23).contains(hour), (0...59).contains(minute)
        else { return nil }
        return hour * 3600 + minute * 60
    }

    private static func say(_ text: String) { write(text + "\n", to: 1) }

    private static func complain(_ text: String) { write(text + "\n", to: 2) }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
