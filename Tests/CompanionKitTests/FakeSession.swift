import Foundation
import Synchronization

@testable import CompanionKit

/// Someone who is signed in, until the test says otherwise.
final class FakeSession: SessionProvider {
    static let server = URL(fileURLWithPath: "/companion.example")

    private struct State {
        var epoch = 1
        var account: SignedInAccount?
        var tokens = ["token-1"]
        var expiresAt: Date?
        var refused: [String] = []
        var failure: CompanionError?
        var meanwhile: (@Sendable () -> Void)?
    }

    private let content: Mutex<State>

    init(_ id: AccountID? = People.me) {
        content = Mutex(
            State(account: id.map { SignedInAccount(serverURL: Self.server, id: $0) })
        )
    }

    /// Tokens that callers wanted replaced.
    var refused: [String] { content.withLock { $0.refused } }

    func state() -> SessionState {
        content.withLock { SessionState(epoch: $0.epoch, account: $0.account) }
    }

    func token(replacing refused: String?) throws -> BearerToken {
        let meanwhile = content.withLock { content in
            defer { content.meanwhile = nil }
            return content.meanwhile
        }
        meanwhile?()
        return try content.withLock { content in
            if let failure = content.failure { throw failure }
            guard content.account != nil else { throw CompanionError.notSignedIn }
            if let refused {
                content.refused.append(refused)
                if content.tokens.count > 1 { content.tokens.removeFirst() }
            }
            return BearerToken(text: content.tokens[0], expiresAt: content.expiresAt)
        }
    }

    /// Signs somebody else in, or nobody.
    func signIn(_ id: AccountID?) {
        content.withLock { content in
            content.epoch += 1
            content.account = id.map { SignedInAccount(serverURL: Self.server, id: $0) }
        }
    }

    func set(tokens: [String], expiresAt: Date? = nil) {
        content.withLock { content in
            content.tokens = tokens
            content.expiresAt = expiresAt
        }
    }

    /// Does something while a token is asked for.
    func meanwhile(_ action: @escaping @Sendable () -> Void) {
        content.withLock { $0.meanwhile = action }
    }

    func fail(with error: CompanionError?) { content.withLock { $0.failure = error } }
}

/// Ids that tests share.
enum People {
    static let me = AccountID(rawValue: .numbered(0x01))
    static let ann = AccountID(rawValue: .numbered(0x0A))
    static let bob = AccountID(rawValue: .numbered(0x0B))
}

enum Groups {
    static let circle = GroupID(rawValue: .numbered(0xC1))
    static let otherCircle = GroupID(rawValue: .numbered(0xC2))
    static let convoy = GroupID(rawValue: .numbered(0xD1))
    static let otherConvoy = GroupID(rawValue: .numbered(0xD2))
}

enum Places {
    static let home = PlaceID(rawValue: .numbered(0xE1))
    static let work = PlaceID(rawValue: .numbered(0xE2))
    static let middle = Coordinate(latitude: 46.0, longitude: 14.5)

    /// So many metres north of the middle.
    static func north(_ meters: Double) -> Coordinate {
        Coordinate(latitude: middle.latitude + meters / 111_194.9266, longitude: middle.longitude)
    }

    static func reading(_ meters: Double, at date: Date) -> LocationReading {
        LocationReading(coordinate: north(meters), accuracyMeters: 5, measuredAt: date)
    }
}

extension UUID {
    /// An id that a reader can tell from others.
    fileprivate static func numbered(_ number: UInt8) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, number))
    }
}
