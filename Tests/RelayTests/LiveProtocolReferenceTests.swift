import Foundation
import Messages
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// `docs/reference/live-protocol.md` says what the code does.
@Suite struct LiveProtocolReferenceTests {
    private let text: String

    init() throws {
        text = try String(
            contentsOfFile: ProjectPaths.root + "/docs/reference/live-protocol.md",
            encoding: .utf8
        )
    }

    private func rows(_ heading: String) throws -> [[String]] {
        let section = try #require(
            text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading) }
        )
        return section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2)
            .map { row in row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    @Test func `the types of clients are those that are read`() throws {
        let types = try rows("From the client").map { $0[0].trimmingCharacters(in: ["`"]) }
        #expect(Set(types) == Set(ClientFrame.FrameType.allCases.map(\.rawValue)))
    }

    @Test func `each frame of the relay has its keys in their order`() throws {
        let (a, b) = (UniqueID(high: 1, low: 1), UniqueID(high: 2, low: 2))
        let fix = RelayedFix(
            accountID: a,
            latitude: 1,
            longitude: 2,
            headingDegrees: 3,
            speedKilometersPerHour: 4,
            timestampMilliseconds: 5,
            receivedAtMilliseconds: 6,
            ttlSeconds: 7,
            groups: []
        )
        let event = PlaceEventNotice(
            groupID: a,
            accountID: b,
            placeID: a,
            placeName: "x",
            kind: "arrive",
            timestampMilliseconds: 1,
            sequence: 1
        )
        func vote(_ ballot: RelayedVote.Ballot) -> [UInt8] {
            ServerFrame.vote(RelayedVote(accountID: a, groupID: b, version: 1, ballot: ballot))
        }
        let frames = [
            ServerFrame.joined(a), ServerFrame.auth(expiresAtMilliseconds: 1),
            ServerFrame.error("x", group: a),
            ServerFrame.positions([fix.row(ttlSeconds: 7)]), ServerFrame.left(a, group: b),
            vote(.offer([.init(latitude: 1, longitude: 2)])), vote(.vote(1)),
            ServerFrame.placeEvent(event),
        ]
        var found: [String] = []
        for frame in frames {
            let json = JSON(WebSocketBytes.payload(frame))
            let row = try #require(try rows("From the relay").first { $0[0] == "`\(json.type)`" })
            found.append(json.type)
            let keys = row[1].matches(of: #/`(\w+)`/#).map { String($0.1) }
            let inner = json.type == "positions" ? json["peers"].array[0].keys : []
            #expect(json.keys + inner == ["type"] + keys, "\(json.type)")
        }
        #expect(try rows("From the relay").map { $0[0].trimmingCharacters(in: ["`"]) } == found)
    }

    @Test func `the bounds are those of the code`() throws {
        let limits = RelayLimits()
        func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }
        func range(_ range: ClosedRange<Double>) -> String {
            "\(Int(range.lowerBound)) to \(Int(range.upperBound))"
        }
        func range(_ range: ClosedRange<Int>) -> String {
            "\(range.lowerBound) to \(range.upperBound)"
        }
        func milliseconds(_ sockets: Int) -> UInt64 {
            Gathering(limits).patience(with: sockets) / 1_000_000
        }
        // The row above begins with 200 sockets.
        #expect(milliseconds(199) == 0)
        let gathering = "\(milliseconds(200)) to \(milliseconds(limits.sockets)) ms"
        let values = [
            "\(RelayLimits.messageBytes) bytes", "\(RelayLimits.frameDepth) levels",
            "\(Int(RelayLimits.budgetBurst)), \(Int(RelayLimits.budgetPerSecond))",
            "\(Int(RelayLimits.openingBurst)), \(Int(RelayLimits.openingsPerSecond))",
            range(RelayLimits.candidates),
            range(RelayLimits.voteIndices), "\(RelayLimits.candidateName) characters",
            range(RelayLimits.accuracies) + " m", range(RelayLimits.headings) + " degrees",
            range(RelayLimits.speeds) + " km/h",
            "\(RelayLimits.socketTTLSeconds) s, \(RelayLimits.postedTTLSeconds) s",
            "\(seconds(limits.pingInterval)), \(limits.missedPongs)", seconds(limits.stuckLimit),
            "\(limits.waitingFrames)", gathering, seconds(limits.sweepInterval),
            seconds(limits.viewLifetime),
        ]
        #expect(try rows("Bounds").map { $0[1] } == values)
    }

    /// No mask, no UTF-8, the head of a frame of a byte more than 16 MiB.
    private static let broken: [[UInt8]] = [
        [0x81, 1, 0x61], [0x81, 0x81, 0, 0, 0, 0, 0xFF],
        [0x81, 0xFF, 0, 0, 0, 0, 1, 0, 0, 1],
    ]

    @Test func `the close codes are those of the code`() throws {
        let written = try rows("Close codes").map { [$0[0], $0[1]] }
        let faults = Self.broken.map { frame in
            var reader = WebSocketReader(messageLimit: RelayLimits.messageBytes)
            let replies = frame.withUnsafeBytes { reader.read($0, with: .init()) }.replies
            #expect(replies.count == 4)
            return ["\(replies.suffix(2).reduce(0) { Int($0) << 8 | Int($1) })", "–"]
        }
        #expect(written == CloseReason.allCases.map { ["\($0.code)", $0.text] } + faults)
    }
}
