import Glibc

/// Runs a closure on a thread of its own, because it blocks.
func startThread(_ body: sending @escaping () -> Void) {
    let box = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, run, box.toOpaque()) == 0 else { return box.release() }
    pthread_detach(thread)
}

/// A peer ends with the test process, however that ends.
func prctlParentDeath() {
    let parent = getppid()
    startThread {
        while getppid() == parent { usleep(200_000) }
        _exit(1)
    }
}

private final class Body {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

private func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().body()
    return nil
}
