import Glibc
import TestKit
import Testing

/// The ports that other tests are given.
struct TestPortTests {
    @Test func `a program that starts meanwhile does not keep a port`() throws {
        let port = try TestPort.free(1)[0]
        var held: LoopbackListener? = try LoopbackListener(port: port, listens: false)
        let program = try FinishedProgram(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"])
        let sleeper = try #require(pid_t(program.output.dropLast()))
        defer { kill(sleeper, SIGKILL) }
        #expect(held?.port == port)
        held = nil
        #expect(throws: Never.self) { try LoopbackListener(port: port, listens: false) }
    }
}
