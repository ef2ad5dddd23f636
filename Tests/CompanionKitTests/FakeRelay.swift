import Foundation
import Synchronization

@testable import CompanionKit

/// A relay of which the test is the other end.
final class FakeRelay: RelaySocket {
    private struct State {
        var connections: [FakeRelayConnection] = []
        var bearers: [String] = []
        var refusals: [any Error] = []
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, waiting: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// The tokens of every attempt so far.
    var bearers: [String] { state.withLock { $0.bearers } }

    /// The connections of every attempt that had one.
    var connections: [FakeRelayConnection] { state.withLock { $0.connections } }

    /// Lets the next attempts fail.
    func refuse(with errors: any Error...) { state.withLock { $0.refusals += errors } }

    /// Lets attempts wait until ``letGo()``.
    func hold() { state.withLock { $0.isHeld = true } }

    func letGo() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for waiting in held { waiting.resume() }
    }

    func open(bearer: String) async throws -> any RelayConnection {
        await withTaskCancellationHandler {
            await arrive(bearer)
        } onCancel: {
            letGo()
        }
        try Task.checkCancellation()
        return try state.withLock { state in
            if !state.refusals.isEmpty { throw state.refusals.removeFirst() }
            let connection = FakeRelayConnection()
            state.connections.append(connection)
            return connection
        }
    }

    private func arrive(_ bearer: String) async {
        await withCheckedContinuation { continuation in
            let (mustWait, watchers) = state.withLock { state in
                state.bearers.append(bearer)
                let watchers = state.watchers.filter { $0.count <= state.bearers.count }
                state.watchers.removeAll { $0.count <= state.bearers.count }
                if state.isHeld { state.held.append(continuation) }
                return (state.isHeld, watchers)
            }
            for watcher in watchers { watcher.waiting.resume() }
            if !mustWait { continuation.resume() }
        }
    }

    /// Waits until there have been so many attempts.
    func attempts(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.bearers.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The newest connection, once there have been so many attempts and it has sent something.
    func connection(_ count: Int = 1) async -> FakeRelayConnection {
        await attempts(count)
        while true {
            if let last = state.withLock({ $0.connections.last }), !last.isClosed,
                !last.sent.isEmpty
            {
                return last
            }
            await Task.yield()
        }
    }
}

/// One connection to the test.
final class FakeRelayConnection: RelayConnection {
    private struct State {
        var sent: [String] = []
        var inbox: [Result<String?, any Error>] = []
        var reader: CheckedContinuation<String?, any Error>?
        var isClosed = false
        var watchers: [(count: Int, waiting: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// The frames that the phone sent, as JSON objects.
    var sent: [[String: JSONValue]] {
        state.withLock { $0.sent }.compactMap { text in
            (try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)))?.object
        }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The groups of the joins so far.
    var joins: [GroupID] {
        sent.filter { $0["type"] == .text("join") }.compactMap { $0["groupId"]?.text }
            .compactMap { GroupID($0) }
    }

    func types(_ count: Int) async -> [String] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.sent.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return sent.compactMap { $0["type"]?.text }
    }

    func send(_ text: String) async throws {
        let watchers = try state.withLock { state in
            if state.isClosed { throw RelayError.failed("closed") }
            state.sent.append(text)
            let watchers = state.watchers.filter { $0.count <= state.sent.count }
            state.watchers.removeAll { $0.count <= state.sent.count }
            return watchers
        }
        for watcher in watchers { watcher.waiting.resume() }
    }

    func receive() async throws -> String? {
        try await withCheckedThrowingContinuation { continuation in
            let next = state.withLock { state -> Result<String?, any Error>? in
                if !state.inbox.isEmpty { return state.inbox.removeFirst() }
                if state.isClosed { return .success(nil) }
                state.reader = continuation
                return nil
            }
            if let next { continuation.resume(with: next) }
        }
    }

    func close() async { end(.success(nil)) }

    /// Lets the phone receive a frame.
    func push(_ frame: String) { deliver(.success(frame)) }

    /// Breaks the connection.
    func drop(_ error: any Error = RelayError.failed("reset")) { end(.failure(error)) }

    func confirm(_ group: GroupID) { push(#"{"type":"joined","groupId":"\#(group)"}"#) }

    private func end(_ result: Result<String?, any Error>) {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { deliver(result) }
    }

    private func deliver(_ result: Result<String?, any Error>) {
        let reader = state.withLock { state -> CheckedContinuation<String?, any Error>? in
            defer { state.reader = nil }
            if state.reader == nil { state.inbox.append(result) }
            return state.reader
        }
        reader?.resume(with: result)
    }
}
