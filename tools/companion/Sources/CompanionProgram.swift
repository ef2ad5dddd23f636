public import CompanionKit
internal import Dispatch
public import FoundationEssentials
internal import Glibc

/// The `companion` program without its `main`.
public enum CompanionProgram {
    static let help = """
        companion - circles and convoys from the command line (-flag and --flag are the same)

          companion join GROUP     make or join a group, befriend and invite people
          companion share GROUP    be somewhere: over the relay in a convoy, by ticks in a circle
          companion watch GROUP    see who is where, arrivals and votes as they happen
          companion vote GROUP [N] vote for candidate N, or open a vote with -offer

        GROUP is a name or an id.

          -url URL             the server (http://localhost:8080)
          -kind circle|convoy  which kind of group (convoy)
          -handle NAME         sign in; the password is in COMPANION_PASSWORD or -password-file
          -password-file FILE  holds the password
          -sign-up             make the account first
          -data FOLDER         keep the session and what was announced there
          -befriend NAME       join: ask for a friendship, or accept it; may be repeated
          -invite NAME         join: invite a friend; may be repeated
          -sharing on|off      join: switch your sharing in a circle
          -at LAT,LON          share, vote: where you are
          -to LAT,LON          share: where you go to from there
          -speed 30            share: km/h on the way
          -once                share: tell it once over HTTP
          -offer LAT,LON,NAME  vote: a destination, up to three times
          -for 30s             stop after this long (vote: a minute)
          -help                this text

        Exit code: 0 done, 1 refused or not to be reached, 2 a command line that makes no sense.
        """

    /// How the program reaches its server; tests put their own in.
    public struct Surroundings: Sendable {
        /// Carries calls.
        public var transport: any CompanionTransport
        /// Opens relay connections to a server.
        public var socket: @Sendable (URL) -> any RelaySocket
        /// The time it lives by.
        public var clock: any CompanionClock
        /// The password when no file has it.
        public var password: String?
        /// Takes a line of output.
        public var say: @Sendable (String) -> Void

        /// Makes surroundings.
        public init(
            transport: any CompanionTransport,
            socket: @escaping @Sendable (URL) -> any RelaySocket,
            clock: any CompanionClock,
            password: String?,
            say: @escaping @Sendable (String) -> Void
        ) {
            self.transport = transport
            self.socket = socket
            self.clock = clock
            self.password = password
            self.say = say
        }

        /// The network, the machine's clocks and standard output.
        static var real: Surroundings {
            Surroundings(
                transport: URLSessionCompanionTransport.insecureForDevelopment(),
                socket: { LinuxRelaySocket(serverURL: $0) },
                clock: SystemCompanionClock(),
                password: ProcessInfo.processInfo.environment["COMPANION_PASSWORD"],
                say: write
            )
        }
    }

    /// Runs the program until its command is done or a signal stops it.
    ///
    /// - Parameter arguments: The command line, the program's name first.
    /// - Returns: The exit code.
    public static func run(arguments: [String]) async -> Int32 {
        let command = Task { await run(arguments: arguments, in: .real) }
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { command.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        return await command.value
    }

    /// Runs the program in surroundings of the caller's.
    ///
    /// - Parameters:
    ///   - arguments: The command line, the program's name first.
    ///   - surroundings: How it reaches its server.
    /// - Returns: The exit code.
    public static func run(arguments: [String], in surroundings: Surroundings) async -> Int32 {
        let say = surroundings.say
        let options: CompanionOptions
        do throws(CompanionOptions.Faults) {
            options = try CompanionOptions(arguments: arguments)
        } catch {
            for sentence in error.sentences { say("companion: \(sentence)") }
            say("companion: see companion -help")
            return 2
        }
        guard !options.wantsHelp else {
            say(help)
            return 0
        }
        do {
            let member = try await Member(options, surroundings)
            switch options.command {
            case .join: try await member.join()
            case .share: try await member.share()
            case .watch: try await member.watch()
            case .vote: try await member.vote()
            }
            return 0
        } catch is CancellationError {
            // A signal is how a person ends what goes on for ever.
            return 0
        } catch let error as ToolError {
            say("companion: \(error.sentence)")
        } catch let error as CompanionError {
            say("companion: \(error.errorDescription ?? "the call failed")")
        } catch {
            say("companion: \(error)")
        }
        return 1
    }

    /// A line at once, also into a pipe.
    private static func write(_ line: String) {
        var bytes = Array("\(line)\n".utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// Why a command cannot be carried out.
struct ToolError: Error, Equatable {
    let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}
