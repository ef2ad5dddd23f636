internal import CLinux
internal import Messages
internal import ServiceKit
internal import Synchronization
internal import Transit
internal import Web

/// What other threads have for the relay's thread.
enum RelayCommand: Sendable {
    /// A socket has left HTTP.
    case accept(UpgradedSocket, UniqueID, TokenClaims)
    /// Claims were drawn, or could not be.
    case claims([UInt64]?)
    /// The answer to a question, or nil.
    case membership(UInt64, MembershipReply?)
    /// Views, or nil.
    case views([GroupView]?)
    /// The sweep's answer, or nil.
    case versions([GroupVersion]?)
    /// Whether fixes were stored.
    case stored(Bool)
    /// A group has a new version.
    case change(GroupChange)
    /// A fix came over HTTP.
    case posted(LiveFix)
    /// Someone arrived or departed.
    case event(PlaceEventNotice)
    /// A relay says who is connected there.
    case presence([RelayPresence.Entry], part: Int, relay: String, epoch: UInt64)
    /// A relay tells something.
    case news(RelayNews)
    /// Members are to be let go of; the call comes when it is done.
    case takeAway([Withdrawal], @Sendable () -> Void)
    /// Sessions may have ended; the call comes when their sockets take part in nothing any more and the other
    /// relays know it, or could not be told.
    case checkSessions(EndRounds.Call?)
    /// Sessions of sockets at another relay have ended; the call comes when nothing of them is shown any more.
    case departed([RelayedDeparture], @Sendable () -> Void)
    /// The other relays took in a round of ended sessions, or did not in time.
    case endsTold(UInt64, isTaken: Bool)
    /// The revocations were read after a standstill, or could not be.
    case looked(Bool, after: UInt64)
    /// The process stops; the call comes when every socket is closed.
    case stop(@Sendable () -> Void)
}

/// Where other threads leave commands for the relay's thread.
final class RelayMailbox: Sendable {
    private struct State {
        var commands: [RelayCommand] = []
        var hasEnded = false
    }

    let wake: WakeDescriptor
    private let state = Mutex(State())

    init() { wake = WakeDescriptor() }

    /// Leaves a command.
    ///
    /// - Returns: false when the thread has ended; nothing becomes of the command then.
    @discardableResult
    func post(_ command: RelayCommand) -> Bool {
        let (isTaken, isFirst) = state.withLock { state in
            guard !state.hasEnded else { return (false, false) }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
        if isFirst { wake.signal() }
        return isTaken
    }

    /// Takes all commands.
    ///
    /// - Parameter isWoken: Whether ``wake`` is readable.
    /// - Returns: The commands, in the order in which they were left.
    func takeAll(isWoken: Bool) -> [RelayCommand] {
        if isWoken { wake.drain() }
        return state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Takes the last commands; later ones are refused.
    func end() -> [RelayCommand] {
        state.withLock { state in
            state.hasEnded = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}
