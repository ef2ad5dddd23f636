internal import CZlib

/// Why bytes cannot be inflated.
public enum GzipError: Error, Sendable, Equatable {
    /// More bytes come out than the limit admits.
    case tooLarge
    /// The bytes are no whole gzip stream, or others follow it.
    case malformed
}

/// gzip (RFC 1952) through zlib.
public enum Gzip {
    /// Compresses; blocks for about 15 ns a byte, so big bodies do not belong on a loop thread.
    ///
    /// - Parameters:
    ///   - bytes: What to compress.
    ///   - level: From 1, fast, to 9, small. Of a feed, 5 takes two thirds of the time of 6 for one byte
    ///     more in a hundred.
    /// - Returns: One gzip member, with a zero time so that equal input makes equal output.
    public static func compress(_ bytes: [UInt8], level: Int = 5) -> [UInt8] {
        var stream = z_stream()
        let begun = alongside_zlib_begin_gzip(&stream, Int32(min(max(level, 1), 9)))
        precondition(begun == Z_OK, "zlib refuses to start (error \(begun))")
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        return bytes.withUnsafeBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(bound)
                let ended = deflate(&stream, Z_FINISH)
                precondition(ended == Z_STREAM_END, "deflateBound was too small (error \(ended))")
                count = bound - Int(stream.avail_out)
            }
        }
    }

    /// Inflates one gzip stream, as far as the limit goes.
    ///
    /// - Parameters:
    ///   - bytes: A whole gzip member and nothing behind it.
    ///   - limit: The most bytes that may come out; more are never held.
    /// - Returns: The bytes.
    /// - Throws: ``GzipError``.
    public static func inflate(_ bytes: [UInt8], limit: Int) throws(GzipError) -> [UInt8] {
        var stream = z_stream()
        let begun = alongside_zlib_begin_gunzip(&stream)
        precondition(begun == Z_OK, "zlib refuses to start (error \(begun))")
        defer { inflateEnd(&stream) }
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(max(limit, 1), 64 * 1024))
        var status = Z_OK
        bytes.withUnsafeBufferPointer { input in
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(input.count)
            while status == Z_OK, result.count <= limit {
                chunk.withUnsafeMutableBufferPointer { output in
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(output.count)
                    status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    result.append(contentsOf: output.prefix(output.count - Int(stream.avail_out)))
                }
            }
        }
        guard result.count <= limit else { throw .tooLarge }
        guard status == Z_STREAM_END, stream.avail_in == 0 else { throw .malformed }
        return result
    }
}
