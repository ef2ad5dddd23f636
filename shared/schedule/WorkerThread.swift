internal import Glibc

/// Runs one blocking piece of work on a thread of its own.
public enum WorkerThread {
    /// Waits for `body` without blocking the cooperative pool.
    public static func run<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in
            let work = Work { continuation.resume(returning: body()) }
            let box = Unmanaged.passRetained(work)
            var thread = pthread_t()
            guard pthread_create(&thread, nil, runWork, box.toOpaque()) == 0 else {
                // Without a thread the work is done here: late, but done.
                box.release()
                work.body()
                return
            }
            pthread_detach(thread)
        }
    }
}

private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runWork(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<Work>.fromOpaque(box).takeRetainedValue().body()
    return nil
}
