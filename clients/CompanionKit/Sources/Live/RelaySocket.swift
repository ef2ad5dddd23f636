public import Foundation

/// Opens connections to the relay; where it is, the implementation knows.
public protocol RelaySocket: Sendable {
    /// Opens a connection.
    ///
    /// It is told to stop, by cancellation, after 20 s or when nothing is followed any more; a
    /// connection that comes later is closed.
    ///
    /// - Parameter bearer: The token for the `Authorization` header of the upgrade.
    /// - Returns: A connection whose upgrade succeeded.
    /// - Throws: ``RelayError/refused(status:)`` for another status than 101, or whatever tells
    ///   people best why there is no connection.
    func open(bearer: String) async throws -> any RelayConnection
}

/// An open connection to the relay.
///
/// It carries text frames alone, in the order of their sending; pings are answered underneath. One
/// that dies without a word is its own to notice, as by pings: ``receive()`` may wait as long as it
/// likes.
public protocol RelayConnection: Sendable {
    /// Sends one text frame; a connection that takes longer than 10 s over it is closed.
    ///
    /// - Throws: When the connection is broken.
    func send(_ text: String) async throws
    /// Waits for the next text frame.
    ///
    /// - Returns: A frame, nil once the server closed the connection without a reason to tell.
    /// - Throws: ``RelayError/closed(code:reason:)``, or another error when the connection broke.
    func receive() async throws -> String?
    /// Closes the connection; a waiting ``receive()`` ends.
    func close() async
}

/// Why there is no connection to the relay.
public enum RelayError: Error, Sendable, Equatable {
    /// Another ``ConvoyRelay/run()`` is under way.
    case alreadyRunning
    /// Nobody is signed in.
    case notSignedIn
    /// The server answered the upgrade with this HTTP status.
    case refused(status: Int)
    /// The server closed the connection with this WebSocket code.
    case closed(code: Int, reason: String)
    /// Anything else, in words for people.
    case failed(String)

    /// What people see when an error says nothing.
    static let fallbackMessage = "The live connection failed"

    /// Whether another connection of the same person took this one's place.
    var isReplacement: Bool {
        if case .closed(_, let reason) = self { reason.contains("replaced") } else { false }
    }

    /// Whether the token is what the server did not want.
    var isAboutToken: Bool {
        switch self {
        case .refused(status: 401), .closed(code: 4001, _): true
        default: false
        }
    }

    /// What people see of any error of a socket.
    static func message(of error: any Error) -> String {
        let text = (error as? any LocalizedError)?.errorDescription ?? ""
        return text.contains { !$0.isWhitespace } ? text : fallbackMessage
    }
}

extension RelayError: LocalizedError {
    /// A sentence for people.
    public var errorDescription: String? {
        switch self {
        case .alreadyRunning: "The live connection is running already"
        case .notSignedIn: "Not signed in"
        case .refused(let status): "The server refused the live connection (\(status))"
        case .closed(let code, let reason):
            reason.isEmpty ? "The server closed the live connection (\(code))" : reason
        case .failed(let message): message
        }
    }
}
