import Testing
import Transit

@testable import RelayService

/// How often an account may open a socket.
@Suite struct OpeningLimitTests {
    private let clock = ManualUptime()
    private let anna = UniqueID.random()

    private func limit() -> OpeningLimit { OpeningLimit { [clock] in clock.nanoseconds } }

    @Test func `ten at once and then two a second, each account for itself`() {
        let limit = limit()
        for _ in 0..<10 { #expect(limit.admits(anna)) }
        for _ in 0..<100 { #expect(!limit.admits(anna)) }
        #expect(limit.admits(.random()))
        clock.advance(by: .milliseconds(499))
        #expect(!limit.admits(anna))
        clock.advance(by: .milliseconds(1))
        #expect(limit.admits(anna) && !limit.admits(anna))
        clock.advance(by: .seconds(3600))
        for _ in 0..<10 { #expect(limit.admits(anna)) }
        #expect(!limit.admits(anna))
    }

    /// A kit that is cut off each time as soon as it is in waits for half a second at least.
    @Test func `a kit that comes back as fast as kits do is never refused`() {
        let limit = limit()
        for _ in 0..<10_000 {
            #expect(limit.admits(anna))
            clock.advance(by: .milliseconds(500))
        }
    }

    @Test func `who has not opened any for a while is forgotten`() {
        let limit = limit()
        for _ in 0..<100 {
            for _ in 0..<100 { #expect(limit.admits(.random())) }
            clock.advance(by: .seconds(1))
        }
        #expect(limit.count <= 1024)
    }
}
