import Foundation
import Testing

@testable import CompanionKit

/// Cases 98 to 100 and spec 4.6.
@Suite struct RelayFrameTests {
    static let ann = People.ann.description
    static let convoy = Groups.convoy.description
    static let home = Places.home.description
    static let spot = Coordinate(latitude: 46, longitude: 14.5)

    static let frames: [(String, RelayFrame)] = [
        (#"{"type":"joined","groupId":"\#(convoy)"}"#, .joined(Groups.convoy)),
        (#"{"type":"left","user":"\#(ann)"}"#, .left(People.ann, nil)),
        (
            #"{"type":"left","user":"\#(ann)","groupId":"\#(convoy)"}"#,
            .left(People.ann, Groups.convoy)
        ),
        (#"{"type":"ptt_start","user":"\#(ann)"}"#, .voiceStart(People.ann)),
        (#"{"type":"ptt_end","user":"\#(ann)"}"#, .voiceEnd(People.ann)),
        (
            #"{"type":"ptt_audio","user":"\#(ann)","chunk":"AQI="}"#,
            .voice(VoiceChunk(riderID: People.ann, bytes: [1, 2]))
        ),
        (
            #"{"type":"spin_vote","groupId":"\#(convoy)","user":"\#(ann)","index":2}"#,
            .spinVote(People.ann, Groups.convoy, 2)
        ),
        (
            #"{"type":"spin_offer","groupId":"\#(convoy)","user":"\#(ann)","candidates":["#
                + #"{"lat":46,"lon":14.5,"distanceM":1200,"durationS":null,"name":"Lake"}]}"#,
            .spinOffer(
                People.ann,
                Groups.convoy,
                [SpinCandidate(coordinate: spot, distanceMeters: 1200, name: "Lake")]
            )
        ),
        (
            #"{"type":"place_event","groupId":"\#(convoy)","user":"\#(ann)","placeId":"\#(home)","#
                + #""placeName":"","kind":"ARRIVE","ts":5}"#,
            .placeEvent(
                LivePlaceEvent(
                    circleID: Groups.convoy,
                    riderID: People.ann,
                    placeID: Places.home,
                    placeName: "",
                    kind: .arrive,
                    timestampMilliseconds: 5
                )
            )
        ),
        (#"{"type":"auth","expiresAt":7}"#, .authenticated(expiresAtMilliseconds: 7)),
        (#"{"type":"error","message":"no"}"#, .error("no", nil)),
        (#"{"type":"error","message":" ","groupId":"\#(convoy)"}"#, .error("", Groups.convoy)),
    ]

    @Test(arguments: frames)
    func `reads every frame that the relay sends`(text: String, frame: RelayFrame) {
        #expect(RelayFrame(text) == frame)
    }

    @Test(
        arguments: [
            "", "nonsense", "[]", "{}", "null", "7", #""joined""#, #"{"type":7}"#,
            #"{"type":"weather"}"#, #"{"type":"left"}"#, #"{"type":"left","user":""}"#,
            #"{"type":"left","user":"ann"}"#, #"{"type":"positions"}"#,
            #"{"type":"positions","peers":{}}"#, #"{"type":"spin_offer","candidates":[]}"#,
            #"{"type":"spin_offer","candidates":[{"lat":91,"lon":0}]}"#,
            #"{"type":"spin_vote","user":"\#(ann)","index":3}"#,
            #"{"type":"spin_vote","user":"\#(ann)","index":-1}"#,
            #"{"type":"spin_vote","user":"\#(ann)","index":"1"}"#,
            #"{"type":"spin_vote","user":"\#(ann)","index":1.5}"#,
            #"{"type":"ptt_audio","user":"\#(ann)","chunk":"%%"}"#,
            #"{"type":"place_event","groupId":"\#(convoy)","user":"\#(ann)","placeId":"7","kind":"arrive","ts":5}"#,
            #"{"type":"place_event","groupId":"\#(convoy)","user":"\#(ann)","placeId":"\#(home)","kind":"pass","ts":5}"#,
            #"{"type":"auth"}"#, #"{"type":"joined"}x"#,
        ]
    )
    func `takes nothing else for a frame`(text: String) {
        #expect(RelayFrame(text) == nil)
    }

    @Test func `drops a bad row and keeps the others`() throws {
        let text = """
            {"type":"positions","peers":[
             {"u":"","lat":1,"lon":2},{"u":"\(Self.ann)","lat":"1","lon":2},
             {"u":"\(Self.ann)","lon":2},{"u":"ann","lat":1,"lon":2},7,
             {"u":"\(Self.ann)","lat":46,"lon":14.5,"h":90.5,"s":null,"ts":3,"ttl":300},
             {"u":"\(People.bob)","lat":46,"lon":14.5,"ts":4}]}
            """
        guard case .positions(let peers) = RelayFrame(text) else {
            Issue.record("no positions")
            return
        }
        try #require(peers.count == 2)
        #expect(peers[0].headingDegrees == 90.5)
        #expect(peers[0].speedKilometersPerHour == nil)
        #expect(peers[0].timestampMilliseconds == 3)
        #expect(peers.map(\.riderID) == [People.ann, People.bob])
        #expect(peers.map(\.ttlSeconds) == [300, 20])
    }

    @Test(arguments: [("0", 20), ("-5", 20), ("null", 20), ("1", 1), ("9999999999", 3600)])
    func `bounds how long a peer is shown`(ttl: String, seconds: Int64) {
        let text =
            #"{"type":"positions","peers":[{"u":"\#(Self.ann)","lat":1,"lon":2,"ttl":\#(ttl)}]}"#
        guard case .positions(let peers) = RelayFrame(text) else {
            Issue.record("no positions")
            return
        }
        #expect(peers.map(\.ttlSeconds) == [seconds])
    }

    // MARK: - Building

    static let date = Date(timeIntervalSince1970: 1.5)

    @Test(
        arguments: [
            (.join(Groups.convoy), #"{"groupId":"\#(convoy)","type":"join"}"#),
            (
                .location(LocationReading(coordinate: spot, measuredAt: date)),
                #"{"lat":46,"lon":14.5,"ts":1500,"type":"location"}"#
            ),
            (
                .location(
                    LocationReading(
                        coordinate: spot,
                        accuracyMeters: 4.5,
                        headingDegrees: 0,
                        speedKilometersPerHour: 36,
                        measuredAt: date
                    )
                ),
                #"{"accuracyM":4.5,"headingDeg":0,"lat":46,"lon":14.5,"speedKmh":36,"ts":1500,"#
                    + #""type":"location"}"#
            ),
            (.voiceStart(Groups.convoy), #"{"groupId":"\#(convoy)","type":"ptt_start"}"#),
            (.voiceEnd(Groups.convoy), #"{"groupId":"\#(convoy)","type":"ptt_end"}"#),
            (
                .voice(Groups.convoy, [1, 2]),
                #"{"chunk":"AQI=","groupId":"\#(convoy)","type":"ptt_audio"}"#
            ),
            (
                .spinVote(Groups.convoy, 1),
                #"{"groupId":"\#(convoy)","index":1,"type":"spin_vote"}"#
            ),
            (.authenticate("t"), #"{"token":"t","type":"auth"}"#),
        ] as [(OutboundFrame, String)]
    )
    func `builds exactly what the relay knows`(frame: OutboundFrame, text: String) {
        #expect(frame.text == text)
    }

    @Test func `builds an offer that comes back as it went`() {
        let candidates = [
            SpinCandidate(coordinate: Self.spot),
            SpinCandidate(
                coordinate: Self.spot,
                distanceMeters: 10.5,
                durationSeconds: 60,
                name: #"Lake "Bled" / č"#
            ),
        ]
        let text = OutboundFrame.spinOffer(Groups.convoy, candidates).text
        #expect(RelayFrame(text) == .spinOffer(nil, Groups.convoy, candidates))
        #expect(!text.contains("null"))
    }
}
