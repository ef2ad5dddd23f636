internal import CCurl
internal import Synchronization

/// One request of the client while libcurl works on it.
///
/// `@unchecked Sendable`: the client's thread alone touches it after it was queued, but for the
/// cancellation mark, which is atomic.
final class Transfer: @unchecked Sendable {
    /// Bytes of header lines that one request may bring, redirects included; libcurl bounds a line.
    static let headerBytes = 256 << 10

    let url: String
    let method: HTTPMethod
    let headers: [(String, String)]
    let body: [UInt8]
    let limits: HTTPClientLimits
    let isCancelled = Atomic<Bool>(false)
    private let continuation: CheckedContinuation<HTTPClientResponse, any Error>
    private var easy: UnsafeMutableRawPointer?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var received: [UInt8] = []
    private var receivedHeaders = HTTPHeaders()
    private var receivedHeaderBytes = 0
    private var isTooLarge = false
    private var hasTooManyHeaders = false

    init(
        url: String,
        method: HTTPMethod,
        headers: [(String, String)],
        body: [UInt8],
        limits: HTTPClientLimits,
        continuation: CheckedContinuation<HTTPClientResponse, any Error>
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.limits = limits
        self.continuation = continuation
    }

    /// Sets libcurl's handle up for this request.
    ///
    /// - Returns: False when libcurl refuses the URL or a header.
    func begin(_ easy: UnsafeMutableRawPointer, _ configuration: HTTPClientConfiguration) -> Bool {
        self.easy = easy
        // No signals: they would hit any thread of the process.
        alongside_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        alongside_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        alongside_curl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        alongside_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, limits.redirects > 0 ? 1 : 0)
        alongside_curl_set_long(easy, CURLOPT_MAXREDIRS, limits.redirects)
        // An empty proxy also stops libcurl from reading the environment.
        alongside_curl_set_text(easy, CURLOPT_PROXY, configuration.proxy ?? "")
        alongside_curl_set_text(easy, CURLOPT_USERAGENT, configuration.userAgent)
        alongside_curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip")
        alongside_curl_set_long(
            easy,
            CURLOPT_CONNECTTIMEOUT_MS,
            configuration.connectTimeout.milliseconds
        )
        alongside_curl_set_long(easy, CURLOPT_TIMEOUT_MS, limits.time.milliseconds)
        let context = Unmanaged.passUnretained(self).toOpaque()
        alongside_curl_set_sink(easy, CURLOPT_WRITEFUNCTION, transferReceivedBody)
        alongside_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        alongside_curl_set_sink(easy, CURLOPT_HEADERFUNCTION, transferReceivedHeader)
        alongside_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        alongside_curl_set_pointer(easy, CURLOPT_PRIVATE, context)
        setMethod(easy)
        for (name, value) in headers + [("Expect", "")] {
            // A line break would begin a header of the caller's making.
            guard !(name + value).utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 })
            else { return false }
            headerList = curl_slist_append(headerList, "\(name): \(value)")
        }
        alongside_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
        return alongside_curl_set_text(easy, CURLOPT_URL, url) == CURLE_OK
    }

    private func setMethod(_ easy: UnsafeMutableRawPointer) {
        switch method {
        case .get: alongside_curl_set_long(easy, CURLOPT_HTTPGET, 1)
        case .head: alongside_curl_set_long(easy, CURLOPT_NOBODY, 1)
        case .post, .put, .patch, .delete:
            alongside_curl_set_long(easy, CURLOPT_POST, 1)
            alongside_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            // libcurl copies, so the array need not outlive this call.
            _ = body.withUnsafeBytes { bytes in
                alongside_curl_set_pointer(
                    easy,
                    CURLOPT_COPYPOSTFIELDS,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                )
            }
            alongside_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, method.rawValue)
        }
    }

    /// Takes in a piece of the body.
    ///
    /// - Returns: False beyond the limit, which ends the transfer.
    func receive(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard received.count + bytes.count <= limits.bodyBytes else {
            isTooLarge = true
            return false
        }
        received.append(contentsOf: bytes)
        return true
    }

    /// Takes in a header line; a status line begins a new answer, as after a redirect.
    ///
    /// - Returns: False beyond the limit, which ends the transfer.
    func receiveHeader(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        receivedHeaderBytes += line.count
        guard receivedHeaderBytes <= Self.headerBytes else {
            hasTooManyHeaders = true
            return false
        }
        if line.starts(with: "HTTP/".utf8) {
            receivedHeaders = HTTPHeaders()
            received = []
            return true
        }
        guard let colon = line.firstIndex(of: 0x3A) else { return true }
        let value = line[(colon + 1)...].filter { $0 != 0x0D && $0 != 0x0A }
        receivedHeaders.append(
            name: line[..<colon],
            value: value.drop { $0 == 0x20 || $0 == 0x09 }
        )
        return true
    }

    /// Answers the caller, once.
    func end(_ result: CURLcode) {
        var status = 0
        if let easy { alongside_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
        curl_slist_free_all(headerList)
        headerList = nil
        guard result == CURLE_OK else { return fail(error(result)) }
        continuation.resume(
            returning: HTTPClientResponse(status: status, headers: receivedHeaders, body: received)
        )
    }

    /// Answers the caller with a failure, once.
    func fail(_ error: HTTPClientError) {
        curl_slist_free_all(headerList)
        headerList = nil
        continuation.resume(throwing: error)
    }

    private func error(_ result: CURLcode) -> HTTPClientError {
        if isTooLarge { return .tooLarge(limit: limits.bodyBytes) }
        if hasTooManyHeaders {
            return .failed("the answer has more than \(Self.headerBytes) bytes of headers")
        }
        let reason = String(cString: curl_easy_strerror(result))
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .invalidURL
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: return .cannotConnect(reason)
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_TOO_MANY_REDIRECTS: return .tooManyRedirects
        default: return .failed(reason)
        }
    }
}

private func transferReceivedBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let start = UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
    return transfer.receive(UnsafeBufferPointer(start: start, count: size * count))
        ? size * count : 0
}

private func transferReceivedHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let start = UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
    return transfer.receiveHeader(UnsafeBufferPointer(start: start, count: size * count))
        ? size * count : 0
}
