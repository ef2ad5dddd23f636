import Synchronization
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// How many requests an address and an account may send (spec 1.0).
@Suite(.timeLimit(.minutes(5))) struct RequestLimitTests {
    /// Seconds that a test moves.
    private final class Uptime: Sendable {
        private let seconds = Mutex(0.0)
        var now: Double { seconds.withLock { $0 } }
        func advance(by step: Double) { seconds.withLock { $0 += step } }
    }

    private func refused(_ limits: RequestLimits, _ account: UniqueID, _ address: String) -> Int? {
        do throws(HTTPError) {
            try limits.admit(account, from: address)
            return nil
        } catch {
            #expect(error.status == 429)
            return error.retryAfter
        }
    }

    @Test func `an address has 400 at once and 150 in ten seconds`() {
        let uptime = Uptime()
        let limits = RequestLimits(uptime: { uptime.now })
        for _ in 0..<400 { #expect(refused(limits, .random(), "192.0.2.1") == nil) }
        #expect(refused(limits, .random(), "192.0.2.1") == 1)
        #expect(refused(limits, .random(), "192.0.2.2") == nil)
        uptime.advance(by: 10)
        for _ in 0..<150 { #expect(refused(limits, .random(), "192.0.2.1") == nil) }
        #expect(refused(limits, .random(), "192.0.2.1") == 1)
    }

    @Test func `the addresses of one IPv6 network are one caller`() {
        let limits = RequestLimits(uptime: { 0 })
        for number in 0..<400 {
            let address = "2001:db8:1:2:\(number)::\(number)"
            #expect(refused(limits, .random(), address) == nil)
        }
        #expect(refused(limits, .random(), "2001:db8:1:2::1") == 1)
        #expect(refused(limits, .random(), "2001:db8:1:3::1") == nil)
    }

    @Test func `an account has 600 at once and 200 in ten seconds, from wherever`() {
        let uptime = Uptime()
        let limits = RequestLimits(uptime: { uptime.now })
        let account = UniqueID.random()
        for number in 0..<600 {
            #expect(refused(limits, account, "192.0.2.\(number % 200)") == nil)
        }
        #expect(refused(limits, account, "192.0.2.201") == 1)
        uptime.advance(by: 10)
        for number in 0..<200 {
            #expect(refused(limits, account, "192.0.2.\(number % 200)") == nil)
        }
        #expect(refused(limits, account, "192.0.2.202") == 1)
    }

    @Test func `a full bucket holds no more than its burst`() {
        let uptime = Uptime()
        let rate = RequestLimits.Rate(burst: 2, perSecond: 0.1)
        let limits = RequestLimits(address: rate, account: rate, uptime: { uptime.now })
        let account = UniqueID.random()
        uptime.advance(by: 1000)
        #expect(refused(limits, account, "a") == nil)
        #expect(refused(limits, account, "a") == nil)
        #expect(refused(limits, account, "a") == 10)
        uptime.advance(by: 9)
        #expect(refused(limits, account, "a") == 1)
        uptime.advance(by: 1)
        #expect(refused(limits, account, "a") == nil)
    }

    @Test func `over HTTP it is 429 with Retry-After, before anything is read`() async throws {
        let rate = RequestLimits.Rate(burst: 3, perSecond: 0.001)
        let limits = RequestLimits(address: rate, account: rate, uptime: { 0 })
        try await GroupsWorld.with(limits: limits) { world in
            let anna = world.stranger("anna")
            for _ in 0..<3 { #expect(try await anna.get("/api/friends").status == 200) }
            let answer = try await anna.post("/api/circles", "not JSON")
            #expect(answer.status == 429)
            #expect(answer.code == "rate.requests")
            #expect(answer.headers.first("Retry-After") == "1000")
        }
    }
}
