import Foundation
import Testing

@testable import CompanionKit

/// What a phone says and hears while it is connected; defect 18.
extension ConvoyRelayTests {
    // MARK: - Positions

    @Test func `sends positions no oftener than each two seconds, whatever the wall clock says`()
        async throws
    {
        let (connection, running) = await joined()
        func send() async -> Bool {
            await relay.sendLocation(Places.reading(0, at: clock.now))
        }
        #expect(await send())
        clock.setWall(clock.now.addingTimeInterval(3600))
        #expect(await !send())
        clock.advance(by: .milliseconds(1999))
        #expect(await !send())
        // A clock set back an hour silences nobody.
        clock.setWall(clock.now.addingTimeInterval(-7200))
        clock.advance(by: .milliseconds(1))
        #expect(await send())
        #expect(await connection.types(3) == ["join", "location", "location"])
        #expect(connection.sent.last?["groupId"] == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `sends nothing while there is no connection`() async throws {
        #expect(await !relay.sendLocation(Places.reading(0, at: clock.now)))
        let (connection, running) = await joined()
        connection.drop()
        _ = await shows { !$0.isConnected }
        #expect(await !relay.sendLocation(Places.reading(0, at: clock.now)))
        await relay.stop()
        try await running.value
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `leaves out what is no number, and sends no place that is none`(value: Double) async throws
    {
        let (connection, running) = await joined()
        var reading = Places.reading(0, at: clock.now)
        reading.coordinate.longitude = value
        #expect(await !relay.sendLocation(reading))
        reading = Places.reading(0, at: clock.now)
        reading.accuracyMeters = value
        reading.headingDegrees = value
        reading.speedKilometersPerHour = value
        #expect(await relay.sendLocation(reading))
        var candidates = SpinRoundTests.candidates
        candidates[0].distanceMeters = value
        candidates[0].durationSeconds = value
        #expect(await relay.offerSpin(candidates))
        #expect(await connection.types(3) == ["join", "location", "spin_offer"])
        #expect(Set(connection.sent[1].keys) == ["type", "lat", "lon", "ts"])
        #expect(connection.sent[2]["candidates"]?.list?.first?.object?["distanceM"] == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `hides peers whose time is up`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await clock.sleeper(of: ConvoyRelay.housekeepingInterval)
        clock.advance(by: .seconds(20))
        _ = await shows { $0.peers.isEmpty }
        await relay.stop()
        try await running.value
    }

    // MARK: - Votes

    @Test func `opens a vote, counts it, and announces the winner alone`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        #expect(await relay.offerSpin(SpinRoundTests.candidates))
        #expect(await relay.vote(1))
        #expect(await relay.snapshot.spinOutcome == .wait)
        connection.push(
            #"{"type":"spin_vote","groupId":"\#(Groups.convoy)","user":"\#(People.ann)","index":1}"#
        )
        let winner = SpinRoundTests.candidates[1]
        _ = await shows { $0.spinOutcome == .commit(winner) }
        #expect(
            await connection.types(4) == ["join", "spin_offer", "spin_vote", "spin_offer"]
        )
        #expect(connection.sent.last?["candidates"]?.list?.count == 1)
        await relay.stop()
        try await running.value
    }

    @Test func `closes its own vote by hand, and no one else's`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await relay.offerSpin(SpinRoundTests.candidates)
        #expect(await relay.closeSpin())
        #expect(await relay.snapshot.spinOutcome == .commit(SpinRoundTests.candidates[0]))
        let offer = OutboundFrame.spinOffer(Groups.convoy, SpinRoundTests.candidates).text
        connection.push(offer)
        _ = await shows { $0.spin?.isMine == false }
        #expect(await !relay.closeSpin())
        await relay.stop()
        try await running.value
    }

    @Test func `offers nothing that the relay would void`() async throws {
        let (_, running) = await joined()
        let candidate = SpinRoundTests.candidates[0]
        var long = candidate
        long.name = String(repeating: "x", count: 81)
        var lost = candidate
        lost.coordinate.latitude = 91
        #expect(await !relay.offerSpin([]))
        #expect(await !relay.offerSpin([candidate, candidate, candidate, candidate]))
        #expect(await !relay.offerSpin([candidate, long]))
        #expect(await !relay.offerSpin([candidate, lost]))
        #expect(await !relay.vote(0))
        #expect(await relay.snapshot.spin == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `keeps an offer on the own table when it cannot be sent`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        #expect(await !relay.offerSpin(SpinRoundTests.candidates))
        #expect(await relay.snapshot.spin?.isMine == true)
    }

    @Test func `knows when the relay has handled what was sent`() async throws {
        #expect(await !relay.settled())
        let (connection, running) = await joined()
        #expect(await relay.offerSpin(SpinRoundTests.candidates))
        async let first = relay.settled()
        #expect(await connection.types(3) == ["join", "spin_offer", "join"])
        connection.push(Self.positions(People.ann))
        connection.confirm(Groups.convoy)
        #expect(await first)
        // Each waits for the answer to its own join.
        async let second = relay.settled()
        _ = await connection.types(4)
        async let third = relay.settled()
        _ = await connection.types(5)
        connection.confirm(Groups.convoy)
        #expect(await second)
        connection.drop()
        #expect(await !third)
        await relay.stop()
        try await running.value
    }

    @Test func `a convoy that is refused has not handled what was sent`() async throws {
        let (connection, running) = await joined()
        async let settled = relay.settled()
        _ = await connection.types(2)
        connection.push(
            #"{"type":"error","message":"group not found","groupId":"\#(Groups.convoy)"}"#
        )
        #expect(await !settled)
        await relay.stop()
        try await running.value
    }

    // MARK: - Events and voice

    @Test func `passes arrivals on, dropping the oldest for a slow reader`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let running = run()
        let connection = await server.connection()
        connection.confirm(Groups.circle)
        let events = relay.placeEvents()
        for number in 1...20 {
            connection.push(
                #"{"type":"place_event","groupId":"\#(Groups.circle)","user":"\#(People.ann)","#
                    + #""placeId":"\#(Places.home)","placeName":"Home","kind":"arrive","#
                    + #""ts":\#(number)}"#
            )
        }
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.timestampMilliseconds == 5)
        await relay.stop()
        try await running.value
    }

    @Test func `says nothing aloud while voice is off`() async throws {
        let (connection, running) = await joined()
        await relay.setTalking(true)
        await relay.sendVoice([1])
        #expect(connection.sent.count == 1)
        await relay.stop()
        try await running.value
    }
}
