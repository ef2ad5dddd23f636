import Messages
import Synchronization
import Telemetry

@testable import GroupsService

/// An auth that knows whom a test names.
final class FakeDirectory: AccountDirectory {
    private struct State {
        var members: [String: Account] = [:]
        var isAway = false
        var asked: [String] = []
    }

    private let state = Mutex(State())

    /// The handles that were looked up.
    var asked: [String] { state.withLock { $0.asked } }

    func add(_ person: Person) {
        guard let handle = Handle(person.handle) else { return }
        state.withLock {
            $0.members[person.handle.lowercased()] = Account(id: person.id, handle: handle)
        }
    }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    func member(
        named handle: Handle,
        trace: TraceID
    ) async throws(AccountDirectoryError) -> Account? {
        let answer: Result<Account?, AccountDirectoryError> = state.withLock { state in
            state.asked.append(handle.text)
            return state.isAway
                ? .failure(AccountDirectoryError())
                : .success(state.members[handle.text.lowercased()])
        }
        return try answer.get()
    }
}
