internal import CLibPQ
internal import Glibc

/// Starts a detached thread for work that blocks, which never runs on Swift's cooperative pool.
///
/// - Parameters:
///   - name: What debuggers and `top -H` show; Linux keeps 15 bytes.
///   - body: What the thread does; the thread ends with it.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let work = Unmanaged.passRetained(ThreadWork(name: name, body: body))
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let failure = pthread_create(&thread, &attributes, threadMain, work.toOpaque())
    pthread_attr_destroy(&attributes)
    // Only at start, and only when the machine has no room for a thread: nothing can go on then.
    precondition(failure == 0, "no thread can be started: \(String(cString: strerror(failure)))")
}

private final class ThreadWork: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let work = Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue()
    // Signals belong to the main thread.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    _ = alongside_pq_name_thread(work.name)
    work.body()
    return nil
}
