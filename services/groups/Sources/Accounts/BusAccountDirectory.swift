internal import Bus
internal import Messages
internal import Telemetry

/// Asks auth over the bus who has a handle.
struct BusAccountDirectory: AccountDirectory {
    /// How long auth has to answer; the caller waits meanwhile.
    static let patience = Duration.seconds(3)

    let bus: Bus

    func member(
        named handle: Handle,
        trace: TraceID
    ) async throws(AccountDirectoryError) -> Account? {
        guard let instance = bus.instances(of: ServiceNames.auth).randomElement() else {
            throw AccountDirectoryError()
        }
        let query = AccountQuery(trace: trace, body: .handle(handle.text))
        let answer: AccountAnswer
        do {
            let bytes = try await bus.request(
                query.encoded(),
                to: instance,
                timeout: Self.patience,
                trace: trace
            )
            answer = try AccountAnswer(decoding: bytes)
        } catch {
            throw AccountDirectoryError()
        }
        guard case .accounts(let accounts) = answer.body else { throw AccountDirectoryError() }
        guard let found = accounts.first, let handle = found.handle.flatMap({ Handle($0) }) else {
            return nil
        }
        return Account(id: found.id, handle: handle)
    }
}
