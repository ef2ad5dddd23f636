import ServiceKit
import TestKit
import Testing
import Web

@testable import AuthService

/// What a rider's token says about the installation, and what it does not.
@Suite(.timeLimit(.minutes(3))) struct AddressBlockTests {
    @Test(arguments: [
        ("203.0.113.7", "cb0071/24"), ("203.0.113.255", "cb0071/24"), ("203.0.114.0", "cb0072/24"),
        ("::ffff:203.0.113.7", "cb0071/24"), ("2001:db8:1:2::3", "20010db80001/48"),
        ("2001:DB8:1:ffff::", "20010db80001/48"), ("2001:db8:2::", "20010db80002/48"),
        ("9.255.255.255", "09ffff/24"), ("11.0.0.0", "0b0000/24"), ("172.15.0.1", "ac0f00/24"),
        ("172.32.0.1", "ac2000/24"), ("100.63.0.1", "643f00/24"), ("100.128.0.1", "648000/24"),
        ("223.255.255.1", "dfffff/24"), ("3fff::1", "3fff00000000/48"),
    ])
    func `is the block of a public address`(address: String, block: String) {
        #expect(AddressBlock(address)?.description == block)
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.0.1", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
        "192.168.0.1", "169.254.1.1", "100.64.0.1", "100.127.255.255", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "fc00::1", "ff02::1",
        "::ffff:10.0.0.1", "::ffff:127.0.0.1", "4000::1", "", "localhost", "1.2.3", "1.2.3.4.5",
    ])
    func `says nothing of loopback, private and other addresses`(address: String) {
        #expect(AddressBlock(address) == nil)
    }

    private func facts(
        _ auth: AuthProcess,
        _ clock: ManualClock,
        from address: String?,
        _ body: String = installation()
    ) async throws -> InstallationFacts {
        let rider = try await auth.register(body, from: address)
            .decoded(AuthProcess.Registration.self)
        let claims = try TestTokens(clock: clock.application).verifier([.rider])
            .claims(of: rider.token)
        return try #require(claims.installation)
    }

    @Test func `the token carries a keyed hash of the block, alike for neighbours`() async throws {
        let clock = ManualClock()
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "100"], clock: clock) {
            auth async throws in
            let one = try await facts(auth, clock, from: "203.0.113.7")
            let neighbour = try await facts(auth, clock, from: "203.0.113.8")
            let other = try await facts(auth, clock, from: "203.0.114.7")
            let local = try await facts(auth, clock, from: "192.168.0.4")
            #expect(one.addressBlock != nil)
            #expect(one.addressBlock == neighbour.addressBlock)
            #expect(other.addressBlock != nil)
            #expect(other.addressBlock != one.addressBlock)
            #expect(local.addressBlock == nil)
        }
    }

    @Test func `the token says when and as which build the app registered`() async throws {
        let clock = ManualClock()
        try await withAuth(["RIDER_REGISTRATION_LIMIT": "100"], clock: clock) {
            auth async throws in
            let start = clock.now
            let body = installation()
            let first = try await facts(auth, clock, from: nil, body)
            let twin = try await facts(auth, clock, from: nil)
            let newer = try await facts(auth, clock, from: nil, installation(appVersion: "1.1"))
            clock.advance(by: 60)
            let again = try await facts(auth, clock, from: nil, body)
            #expect(first.installedAt == start)
            #expect(again == first)
            #expect(twin == first)
            #expect(newer.build != first.build)
        }
    }
}
