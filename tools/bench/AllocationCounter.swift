import Glibc

/// Counts the objects, array buffers and closure contexts that Swift allocates.
///
/// Uses the runtime's own hook for instruments, an exported function pointer and the flag that makes
/// the runtime go through it.
enum AllocationCounter {
    typealias Allocate =
        @convention(c) (UnsafeRawPointer?, Int, Int) -> UnsafeMutableRawPointer?

    /// The allocations of `body`, or nil where the runtime has no hook.
    static func count(_ body: () -> Void) -> Int? {
        guard let hook = symbol("_swift_allocObject"),
            let flag = symbol(
                "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly"
            )
        else { return nil }
        let allocate = hook.assumingMemoryBound(to: Allocate.self)
        let isEnabled = flag.assumingMemoryBound(to: Bool.self)
        let original = allocate.pointee
        originalAllocate = original
        allocate.pointee = countingAllocate
        isEnabled.pointee = true
        allocations = 0
        body()
        let counted = allocations
        isEnabled.pointee = false
        allocate.pointee = original
        return counted
    }

    private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
        dlsym(dlopen(nil, RTLD_NOW), name)
    }
}

// The benchmark runs on one thread.
nonisolated(unsafe) private var allocations = 0
nonisolated(unsafe) private var originalAllocate: AllocationCounter.Allocate?

private func countingAllocate(
    _ metadata: UnsafeRawPointer?,
    _ size: Int,
    _ alignmentMask: Int
) -> UnsafeMutableRawPointer? {
    allocations += 1
    return originalAllocate?(metadata, size, alignmentMask)
}
