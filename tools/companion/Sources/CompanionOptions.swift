internal import CompanionKit
internal import FoundationEssentials
internal import ServiceKit

/// What the command line asks for.
struct CompanionOptions: Sendable, Equatable {
    /// What to do.
    enum Command: String, Sendable, CaseIterable {
        case join
        case share
        case watch
        case vote
    }

    var command = Command.watch
    /// A group's id or name.
    var group = ""
    var kind = GroupKind.convoy
    var url = "http://localhost:8080"
    var handle = ""
    var passwordFile = ""
    var signsUp = false
    var data = ""
    /// Whom to befriend before anything else.
    var friends: [String] = []
    /// Whom to invite.
    var invited: [String] = []
    /// Whether to switch sharing in a circle; nil leaves it.
    var sharing: Bool?
    /// Where to be, and where to go to from there.
    var start: Coordinate?
    var destination: Coordinate?
    var speedKilometersPerHour = 30.0
    var isOnce = false
    /// How long to go on; nil until a signal.
    var duration: Duration?
    var candidates: [SpinCandidate] = []
    /// The own vote, counted from 1 as people do.
    var vote: Int?
    var wantsHelp = false

    /// Everything that is wrong with a command line.
    struct Faults: Error, Equatable {
        /// One sentence each.
        let sentences: [String]
    }

    init() {}

    /// Reads a command line; `-flag` and `--flag` mean the same.
    ///
    /// - Parameter arguments: The words, the program's name first.
    /// - Throws: ``Faults`` with a sentence for everything that is wrong.
    init(arguments: [String]) throws(Faults) {
        let (line, unread) = CommandLineArguments.read(
            Array(arguments.dropFirst()),
            options: Self.flags
        )
        var faults = line.options.compactMap { set($0.name, $0.value) }
        faults += unread.map(\.description)
        if !wantsHelp { faults += read(line.positional) + missing() }
        if !faults.isEmpty { throw Faults(sentences: faults) }
    }

    // MARK: - Values

    private mutating func read(_ words: [String]) -> [String] {
        guard let word = words.first, let command = Command(rawValue: word) else {
            let names = Command.allCases.map(\.rawValue).joined(separator: ", ")
            return ["the first word must be one of \(names)"]
        }
        self.command = command
        guard words.count > 1 else { return ["name a group after \(word)"] }
        group = words[1]
        var rest = words.dropFirst(2)
        if command == .vote, let word = rest.first {
            guard let number = Int(word), 1...SpinRound.candidateLimit ~= number else {
                return ["a vote is a number from 1 to \(SpinRound.candidateLimit)"]
            }
            vote = number
            rest = rest.dropFirst()
        }
        return rest.map { "unexpected argument \"\($0)\"" }
    }

    private func missing() -> [String] {
        var faults: [String] = []
        if command == .share, start == nil { faults.append("say where with -at") }
        if command == .vote, vote == nil, candidates.isEmpty {
            faults.append("vote for a number, or open a vote with -offer")
        }
        if candidates.count > SpinRound.candidateLimit {
            faults.append("-offer may be given up to \(SpinRound.candidateLimit) times")
        }
        if signsUp, handle.isEmpty { faults.append("-sign-up needs -handle") }
        if handle.isEmpty, data.isEmpty {
            faults.append("say who you are with -handle, or where your session is with -data")
        }
        return faults
    }

    private mutating func set(_ name: String, _ value: String) -> String? {
        switch name {
        case "url":
            guard let address = URL(string: value), ["http", "https"].contains(address.scheme),
                address.host()?.isEmpty == false
            else { return "-url must be an http or https URL, not \"\(value)\"" }
            url = value
        case "kind":
            guard let kind = GroupKind(rawValue: value) else {
                return "-kind must be circle or convoy"
            }
            self.kind = kind
        case "sharing":
            guard ["on", "off"].contains(value) else { return "-sharing must be on or off" }
            sharing = value == "on"
        case "for":
            guard let time = GoDuration.parse(value), time >= .seconds(1), time <= .seconds(86_400)
            else { return "-for must be from 1s to 24h with a unit, not \"\(value)\"" }
            duration = time
        case "speed":
            guard let speed = Double(value), (0...300).contains(speed) else {
                return "-speed must be from 0 to 300 km/h, not \"\(value)\""
            }
            speedKilometersPerHour = speed
        case "at", "to", "offer": return place(name, value)
        case "handle": handle = value
        case "password-file": passwordFile = value
        case "data": data = value
        case "befriend": friends.append(value)
        case "invite": invited.append(value)
        case "sign-up": signsUp = true
        case "once": isOnce = true
        case "help": wantsHelp = true
        default: preconditionFailure("the flag -\(name) is declared but not read")
        }
        return nil
    }

    /// Reads `LAT,LON` or, for an offer, `LAT,LON,NAME`.
    private mutating func place(_ name: String, _ text: String) -> String? {
        let parts = text.split(separator: ",", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2 || (parts.count == 3 && name == "offer"),
            let latitude = Double(parts[0]), (-90...90).contains(latitude),
            let longitude = Double(parts[1]), (-180...180).contains(longitude)
        else { return "-\(name) must be LAT,LON in degrees, not \"\(text)\"" }
        let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        switch name {
        case "at": start = coordinate
        case "to": destination = coordinate
        default:
            let label = parts.count == 3 ? String(parts[2]) : nil
            guard (label ?? "").unicodeScalars.count <= SpinRound.nameLimit else {
                return "a name has at most \(SpinRound.nameLimit) characters"
            }
            candidates.append(SpinCandidate(coordinate: coordinate, name: label))
        }
        return nil
    }

    // MARK: - Flags

    private static let flags =
        [
            "url", "kind", "handle", "password-file", "data", "befriend", "invite", "sharing", "at",
            "to", "speed", "for", "offer",
        ].map { CommandLineOption($0, takesValue: true) }
        + ["sign-up", "once", "help"].map { CommandLineOption($0) }
}
