/// Bytes that many answers share without a copy, such as one tick's encoded feed.
///
/// `@unchecked Sendable`: the memory is written in the initialiser alone and freed when the last
/// reference goes.
public final class SharedBytes: @unchecked Sendable {
    let memory: UnsafeMutableRawBufferPointer

    /// Copies `bytes` once.
    public init(_ bytes: some Collection<UInt8>) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
    }

    deinit { memory.deallocate() }

    /// The number of bytes.
    public var count: Int { memory.count }

    /// A copy of the bytes.
    public var bytes: [UInt8] { Array(memory) }
}
