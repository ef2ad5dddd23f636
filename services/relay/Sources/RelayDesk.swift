internal import Messages
internal import Telemetry
internal import Transit

/// Answers groups, auth and other relays, who take away.
struct RelayDesk: Sendable {
    let mailbox: RelayMailbox
    /// Reads the revocations; false when that failed.
    let look: @Sendable () async -> Bool

    /// Answers a request; the answer says that it is done.
    func answer(_ body: [UInt8], trace: TraceID) async -> [UInt8] {
        guard let request = try? RelayRequest(decoding: body) else {
            return RelayReply(requestID: .random(), trace: trace, body: .refused).encoded()
        }
        return RelayReply(to: request, await answer(request.body)).encoded()
    }

    private func answer(_ body: RelayRequest.Body) async -> RelayReply.Body {
        switch body {
        case .takeAway(let withdrawals):
            await done { .takeAway(withdrawals, $0) }
            return .takenAway
        case .checkSessions:
            guard await look() else { return .refused }
            return await checkSessions() ? .sessionsChecked : .refused
        case .departed(let departures):
            await done { .departed(departures, $0) }
            return .departuresTaken
        }
    }

    /// Returns when every other relay knows which sessions have ended, or false when one could not be told.
    private func checkSessions() async -> Bool {
        await withCheckedContinuation { continuation in
            let call: EndRounds.Call = { continuation.resume(returning: $0) }
            if !mailbox.post(.checkSessions(call)) { call(true) }
        }
    }

    /// Returns when the relay's thread has done it, or has ended and with it every socket.
    private func done(_ command: (@escaping @Sendable () -> Void) -> RelayCommand) async {
        await withCheckedContinuation { continuation in
            if !mailbox.post(command { continuation.resume() }) { continuation.resume() }
        }
    }
}
