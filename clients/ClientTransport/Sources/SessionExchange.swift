package import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
package import FoundationNetworking
#endif

/// Runs requests on one `URLSession` and decides about every redirect.
///
/// The async `data(for:delegate:)` is not used: on Linux it follows redirects without asking its
/// delegate, which would carry the token to another host. A session delegate is asked everywhere.
package final class SessionExchange: NSObject, URLSessionDataDelegate, Sendable {
    private struct Pending {
        var body = Data()
        var continuation: CheckedContinuation<(Data, URLResponse), any Error>
    }

    private let bodyLimitBytes: Int
    private let pending = Mutex<[Int: Pending]>([:])

    /// Makes an exchange.
    ///
    /// - Parameter bodyLimitBytes: A larger answer fails its call.
    package init(bodyLimitBytes: Int) {
        self.bodyLimitBytes = bodyLimitBytes
    }

    /// A session that asks this object; whoever makes it invalidates it.
    package func makeSession(timeoutSeconds: Double) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        // Nothing here is worth keeping. On Linux, besides, a task that is cancelled while the cache
        // is asked for it ends the process.
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.timeoutIntervalForResource = timeoutSeconds
        #if !canImport(FoundationNetworking)
        configuration.waitsForConnectivity = false
        #endif
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    /// Runs a request, whatever the peer does, for at most as long as the request says.
    ///
    /// The session's own timeouts count from the last byte on Linux: a peer that drips would hold
    /// a call for ever. A call that is given up does not wait for the session's word either, which
    /// does not come for a task that was cancelled too early.
    package func run(
        _ request: URLRequest,
        on session: URLSession
    ) async throws -> (Data, URLResponse) {
        try Task.checkCancellation()
        let task = session.dataTask(with: request)
        let deadline = Task {
            try await Task.sleep(for: .seconds(request.timeoutInterval))
            giveUp(task, because: URLError(.timedOut))
        }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                pending.withLock { $0[task.taskIdentifier] = Pending(continuation: continuation) }
                task.resume()
                // A cancellation that came before had nothing to give up yet.
                if Task.isCancelled { giveUp(task, because: CancellationError()) }
            }
        } onCancel: {
            giveUp(task, because: CancellationError())
        }
    }

    /// Lets whoever waits for a task go; does nothing before it was resumed and after its end.
    private func giveUp(_ task: URLSessionTask, because error: any Error) {
        guard let waiting = pending.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
            return
        }
        task.cancel()
        waiting.continuation.resume(throwing: error)
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isSame = ServerSecurity.isSameOrigin(task.originalRequest?.url, request.url)
        completionHandler(isSame ? request : nil)
    }

    package func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive data: Data
    ) {
        let isTooLarge = pending.withLock { pending in
            pending[dataTask.taskIdentifier]?.body.append(data)
            return pending[dataTask.taskIdentifier]?.body.count ?? 0 > bodyLimitBytes
        }
        if isTooLarge { giveUp(dataTask, because: URLError(.dataLengthExceedsMaximum)) }
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        let finished = pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        if let error {
            finished?.continuation.resume(throwing: error)
        } else if let response = task.response {
            finished?.continuation.resume(returning: (finished?.body ?? Data(), response))
        } else {
            finished?.continuation.resume(throwing: URLError(.badServerResponse))
        }
    }
}
