import CCurl
import Foundation
import FoundationNetworking

/// Runs the kit's requests over one connection of libcurl: Foundation trusts no certificate of a
/// test's own on Linux.
final class CurlExchange: @unchecked Sendable {
    // Sendable: everything below is touched on the queue alone.
    private let queue = DispatchQueue(label: "curl")
    private let handle: UnsafeMutableRawPointer?
    private var received = Received()

    /// What comes back, for a callback that knows one pointer.
    private final class Received {
        var body = Data()
        var headers: [String: String] = [:]
    }

    /// What a phone's URL loading adds to the kit's own headers.
    private static let phoneHeaders = [
        "User-Agent: Buses/412 CFNetwork/1568.300.101 Darwin/24.2.0",
        "Accept-Language: en-US,en;q=0.9", "Accept-Encoding: gzip, deflate, br",
    ]

    /// - Parameters:
    ///   - usesHTTP2: Whether HTTP/2 is offered; HTTP/1.1 else.
    ///   - authority: The file of the certificate to trust.
    init(usesHTTP2: Bool, authority: String) {
        handle = curl_easy_init()
        let version = usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        set(CURLOPT_HTTP_VERSION, Int(version))
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_TIMEOUT_MS, 30_000)
        alongside_curl_set_text(handle, CURLOPT_CAINFO, authority)
        let context = Unmanaged.passUnretained(received).toOpaque()
        alongside_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        alongside_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        alongside_curl_set_sink(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let received = Unmanaged<Received>.fromOpaque(context).takeUnretainedValue()
            received.body.append(Data(bytes: bytes, count: size * count))
            return size * count
        }
        alongside_curl_set_sink(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let received = Unmanaged<Received>.fromOpaque(context).takeUnretainedValue()
            let line = String(decoding: Data(bytes: bytes, count: size * count), as: UTF8.self)
            if let colon = line.firstIndex(of: ":") {
                received.headers[String(line[..<colon])] = line[line.index(after: colon)...]
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }
            return size * count
        }
    }

    deinit { curl_easy_cleanup(handle) }

    func run(_ request: URLRequest) async throws -> (Data, URLResponse) {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.perform(request) }) }
        }
    }

    private func set(_ option: CURLoption, _ value: Int) {
        alongside_curl_set_long(handle, option, value)
    }

    private func perform(_ request: URLRequest) throws -> (Data, URLResponse) {
        guard let url = request.url else { throw URLError(.badURL) }
        received.body = Data()
        received.headers = [:]
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        let own = (request.allHTTPHeaderFields ?? [:]).map { "\($0.key): \($0.value)" }.sorted()
        for line in own + Self.phoneHeaders + ["Expect:"] { list = curl_slist_append(list, line) }
        alongside_curl_set_text(handle, CURLOPT_URL, url.absoluteString)
        alongside_curl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
        let body = Array(request.httpBody ?? Data())
        set(CURLOPT_POST, 1)
        set(CURLOPT_POSTFIELDSIZE, body.count)
        let result = body.withUnsafeBytes { bytes in
            alongside_curl_set_pointer(
                handle,
                CURLOPT_POSTFIELDS,
                UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            )
            return curl_easy_perform(handle)
        }
        guard result == CURLE_OK else {
            throw URLError(.cannotConnectToHost, userInfo: [:])
        }
        var status = 0
        alongside_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        var version = 0
        alongside_curl_get_long(handle, CURLINFO_HTTP_VERSION, &version)
        received.headers["X-Version"] =
            version == Int(CURL_HTTP_VERSION_2_0) ? "HTTP/2" : "HTTP/1.1"
        let answer = HTTPURLResponse(
            url: url,
            statusCode: status,
            httpVersion: nil,
            headerFields: received.headers
        )
        guard let answer else { throw URLError(.badServerResponse) }
        return (received.body, answer)
    }
}
