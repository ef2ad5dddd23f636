public import Foundation

/// A person as they are signed in on this phone.
public struct SignedInAccount: Sendable, Equatable, Codable {
    /// The server, `https` unless a development transport is used; a path prefix is kept.
    public var serverURL: URL
    /// The account.
    public var id: AccountID

    /// Makes an account.
    public init(serverURL: URL, id: AccountID) {
        self.serverURL = serverURL
        self.id = id
    }
}

/// Who is signed in now, and a number that tells one session from the next.
public struct SessionState: Sendable, Equatable {
    /// Rises with each sign-in and sign-out; what was begun under another epoch is someone else's.
    public var epoch: Int
    /// Nil when nobody is signed in.
    public var account: SignedInAccount?

    /// Makes a state.
    public init(epoch: Int, account: SignedInAccount?) {
        self.epoch = epoch
        self.account = account
    }
}

/// A proof of who calls.
public struct BearerToken: Sendable, Equatable {
    /// What stands in the `Authorization` header.
    public var text: String
    /// When the server stops taking it, by the phone's wall clock; nil when nobody knows.
    public var expiresAt: Date?

    /// Makes a token.
    public init(text: String, expiresAt: Date? = nil) {
        self.text = text
        self.expiresAt = expiresAt
    }
}

extension BearerToken: CustomStringConvertible, CustomReflectable {
    /// Not the token, which has no place in a log.
    public var description: String { "BearerToken(hidden)" }

    /// Nothing that ``description`` does not say.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Knows who is signed in and proves it; ``AccountSession`` is the kit's own.
public protocol SessionProvider: Sendable {
    /// Who is signed in now, from memory: whatever the kit does waits for the answer.
    func state() async -> SessionState
    /// A token to call with.
    ///
    /// - Parameter refused: A token that is not to be given again: the server refused it, or it
    ///   is about to expire.
    /// - Returns: A token.
    /// - Throws: ``CompanionError/notSignedIn`` when the session is over; another ``CompanionError``
    ///   when no fresh token can be had now.
    func token(replacing refused: String?) async throws -> BearerToken
}
