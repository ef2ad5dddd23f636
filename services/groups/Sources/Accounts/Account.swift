internal import Database
internal import Messages
internal import ServiceKit
internal import Transit
internal import Web

/// A person as this service knows them: an id and the handle of their latest token.
struct Account: Sendable, Equatable {
    /// The account.
    let id: UniqueID
    /// Its handle.
    let handle: Handle

    /// Makes an account from its parts.
    init(id: UniqueID, handle: Handle) {
        self.id = id
        self.handle = handle
    }

    /// The account that calls.
    ///
    /// - Throws: 401 for a token whose subject is no account's id or which carries no handle.
    init(calling request: HTTPRequest) throws(HTTPError) {
        guard let principal = request.principal, let id = UniqueID(principal.subject),
            let handle = principal.handle.flatMap({ Handle($0) })
        else { throw .invalidToken }
        self.init(id: id, handle: handle)
    }
}

extension JSONWriter {
    /// Writes a person as `{id, username}`.
    mutating func person(_ id: UniqueID, _ username: String) {
        beginObject()
        member("id", id.description)
        member("username", username)
        endObject()
    }
}
