internal import Glibc

/// Runs a closure on a thread of its own, with every signal blocked.
///
/// - Throws: ``BusError`` when the system has no thread left.
func startBusThread(_ body: sending @escaping () -> Void) throws(BusError) {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, runThreadBody, box.toOpaque())
    guard code == 0 else {
        box.release()
        throw .system(operation: "pthread_create", code: code, sentence: "no thread")
    }
    pthread_detach(thread)
}

private final class ThreadBody {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
}

private func runThreadBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
