internal import CMicrohttpd

/// A response in libmicrohttpd's form, which counts its own references.
///
/// `@unchecked Sendable`: after the initialiser the library alone touches the object, under a lock
/// of its own; it may be queued from any thread and for many connections at once.
final class PreparedResponse: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Makes the library's form.
    ///
    /// - Returns: nil when memory runs out or a header has a control character.
    init?(_ response: HTTPResponse, closing: Bool = false) {
        guard let pointer = Self.create(response.body) else { return nil }
        self.pointer = pointer
        for (name, value) in response.headers
        where MHD_add_response_header(pointer, name, value).rawValue == 0 {
            return nil
        }
        if closing, MHD_add_response_header(pointer, "Connection", "close").rawValue == 0 {
            return nil
        }
    }

    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { MHD_destroy_response(pointer) }

    private static func create(_ body: ResponseBody) -> OpaquePointer? {
        switch body {
        case .empty:
            return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { buffer in
                MHD_create_response_from_buffer(
                    buffer.count,
                    UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                    .RESPMEM_MUST_COPY
                )
            }
        case .shared(let shared):
            let owner = Unmanaged.passRetained(shared).toOpaque()
            let pointer = MHD_create_response_from_buffer_with_free_callback_cls(
                shared.count,
                shared.memory.baseAddress,
                releaseSharedBytes,
                owner
            )
            if pointer == nil { releaseSharedBytes(owner) }
            return pointer
        }
    }
}

/// The library has sent the bytes to everyone who asked and forgotten them.
private func releaseSharedBytes(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<SharedBytes>.fromOpaque(context).release()
}
