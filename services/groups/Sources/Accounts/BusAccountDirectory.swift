internal import Telemetry

/// Asks auth over the bus who has a handle.
struct BusAccountDirectory: AccountDirectory {
    func member(
        named handle: Handle,
        trace: TraceID
    ) async throws(AccountDirectoryError) -> Account? {
        throw AccountDirectoryError()
    }
}
