internal import Bus
internal import Messages
internal import Transit

/// Asks auth about accounts of staff.
///
/// The feed keeps no accounts; it needs to know whether one exists, and its name for the admin's
/// lists.
struct AccountDirectory: Sendable {
    /// What is known of an account.
    enum Answer: Sendable, Equatable {
        /// A driver or admin who is called so.
        case known(name: String)
        /// There is no such account of staff.
        case unknown
        /// Nobody can be asked now.
        case unavailable
    }

    /// The longest that a driver or admin waits for auth.
    static let patience = Duration.seconds(2)

    /// Looks one account up; bounded in time by itself.
    let lookUp: @Sendable (UniqueID) async -> Answer

    /// Makes a directory of any look-up.
    init(lookUp: @escaping @Sendable (UniqueID) async -> Answer) { self.lookUp = lookUp }

    /// Makes a directory that asks whichever auth lives.
    init(_ bus: Bus) {
        lookUp = { id in
            let query = AccountQuery(body: .ids([id]))
            guard let instance = bus.instances(of: ServiceNames.auth).randomElement(),
                let bytes = try? await bus.request(
                    query.encoded(),
                    to: instance,
                    timeout: Self.patience,
                    trace: query.trace
                ),
                let answer = try? AccountAnswer(decoding: bytes)
            else { return .unavailable }
            return Answer(answer.body, of: id)
        }
    }
}

extension AccountDirectory.Answer {
    /// Reads auth's answer; members have no name and drive nothing.
    init(_ body: AccountAnswer.Body, of id: UniqueID) {
        switch body {
        case .unavailable: self = .unavailable
        case .accounts(let accounts):
            let account = accounts.first { $0.id == id && !$0.name.isEmpty }
            self = account.map { .known(name: $0.name) } ?? .unknown
        }
    }
}
