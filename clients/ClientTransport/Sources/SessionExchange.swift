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
    /// a call for ever.
    package func run(
        _ request: URLRequest,
        on session: URLSession
    ) async throws -> (Data, URLResponse) {
        let task = session.dataTask(with: request)
        let deadline = Task {
            try await Task.sleep(for: .seconds(request.timeoutInterval))
            task.cancel()
        }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                pending.withLock { $0[task.taskIdentifier] = Pending(continuation: continuation) }
                task.resume()
                // A task cancelled before it was resumed would never report back.
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            task.cancel()
        }
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
        if isTooLarge { dataTask.cancel() }
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        let finished = pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        if let body = finished?.body, body.count > bodyLimitBytes {
            finished?.continuation.resume(throwing: URLError(.dataLengthExceedsMaximum))
        } else if let error {
            finished?.continuation.resume(throwing: error)
        } else if let response = task.response {
            finished?.continuation.resume(returning: (finished?.body ?? Data(), response))
        } else {
            finished?.continuation.resume(throwing: URLError(.badServerResponse))
        }
    }
}
