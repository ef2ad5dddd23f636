import Telemetry
import Testing
import Transit

@testable import Messages

@Suite struct RoundTripTests {
    private func expectRoundTrip<Message: WireMessage>(_ message: Message) throws {
        let bytes = message.encoded()
        #expect(try Message(decoding: bytes) == message)
    }

    @Test(arguments: 0..<300) func `every message reads back as it was written`(seed: Int) throws {
        var random = RandomValues(seed: seed)
        for message in random.everyMessage() { try expectRoundTrip(message) }
    }

    @Test func `ids keep NULs and look-alikes apart`() throws {
        for text in ["", "a\0b", "é", "e\u{301}"] {
            let query = TripStatusQuery(tripID: TripID(text), receivedAt: 1)
            let request = RideRequest(
                requestID: .random(),
                trace: .random(),
                body: .tripStatus(query)
            )
            let read = try RideRequest(decoding: request.encoded())
            guard case .tripStatus(let back) = read.body else {
                Issue.record("not a trip status query")
                return
            }
            #expect(Array(back.tripID.rawValue.utf8) == Array(text.utf8))
        }
    }

    @Test func `a batch of twelve is a few hundred bytes`() {
        let points = (0..<12).map {
            ReportedPoint(
                latitude: 47.6,
                longitude: -122.3,
                accuracy: 5,
                timestamp: 1_756_800_000 + Int64($0)
            )
        }
        let request = RideRequest(
            requestID: .random(),
            trace: .random(),
            body: .positions(
                ReportPositions(
                    rideID: .random(),
                    riderID: .random(),
                    points: points,
                    receivedAt: 1
                )
            )
        )
        #expect(request.encoded().count < 12 * 30 + 120)
    }

    @Test func `a value that no point has costs nothing and reads as absent`() throws {
        var batch = ReportPositions(
            rideID: .random(),
            riderID: .random(),
            points: [ReportedPoint(latitude: 1, longitude: 2, speed: .nan, timestamp: 3)],
            receivedAt: 4
        )
        let request = RideRequest(requestID: .random(), trace: .random(), body: .positions(batch))
        batch.points[0].speed = nil
        #expect(try RideRequest(decoding: request.encoded()).body == .positions(batch))
    }

    @Test func `counts out of range are clamped, not trapped`() throws {
        let ended = RideEnded(points: -1, matched: .max, corroborated: 0, durationSeconds: -5)
        let reply = RideReply(requestID: .random(), trace: .random(), body: .ended(ended))
        let expected = RideEnded(
            points: 0,
            matched: Int(UInt32.max),
            corroborated: 0,
            durationSeconds: 0
        )
        #expect(try RideReply(decoding: reply.encoded()).body == .ended(expected))
    }
}
