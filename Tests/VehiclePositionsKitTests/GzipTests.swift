import Foundation
import TestKit
import Testing
import Web

@testable import VehiclePositionsKit

/// What the kit packs, zlib unpacks.
@Suite struct GzipTests {
    struct Input: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        var testDescription: String { name }
    }

    static let inputs: [Input] = {
        var random = SeededGenerator(seed: 7)
        func noise(_ count: Int, of values: ClosedRange<UInt8> = 0...255) -> [UInt8] {
            (0..<count).map { _ in .random(in: values, using: &random) }
        }
        let far = noise(40_000)
        var inputs = [
            Input(name: "nothing", bytes: []), Input(name: "a byte", bytes: [200]),
            Input(name: "two", bytes: [1, 1]), Input(name: "three alike", bytes: [9, 9, 9]),
            Input(name: "every byte", bytes: Array(0...255)),
            Input(name: "noise", bytes: noise(5000)),
            Input(name: "two letters", bytes: noise(5000, of: 97...98)),
        ]
        // Around the longest match of 258.
        for count in [257, 258, 259, 260, 261, 262, 517, 70_000] {
            let bytes = [UInt8](repeating: 7, count: count)
            inputs.append(Input(name: "\(count) alike", bytes: bytes))
        }
        // Around the bases of the distance codes, and the window.
        for gap in [1, 2, 4, 5, 6, 7, 192, 193, 24_576, 24_577, 32_767, 32_768, 32_769, 40_000] {
            let piece = Array(far[..<gap])
            inputs.append(Input(name: "\(gap) apart", bytes: piece + piece))
        }
        return inputs
    }()

    @Test(arguments: inputs)
    func `what was packed comes back`(input: Input) throws {
        let packed = VehiclePositionsKit.Gzip.compress(Data(input.bytes))
        let bytes = try Web.Gzip.inflate(Array(packed), limit: 1 << 20)
        #expect(bytes == input.bytes)
    }

    @Test(arguments: 0..<50)
    func `reports come back, at less than two fifths of their size`(seed: Int) throws {
        var random = SeededGenerator(seed: seed)
        let positions = (0..<12).compactMap { index in
            RiderPosition(
                LocationSample(
                    coordinate: Coordinate(
                        latitude: 47.6 + .random(in: 0...0.01, using: &random),
                        longitude: -122.33 + .random(in: 0...0.01, using: &random)
                    ),
                    horizontalAccuracy: .random(in: 3...15, using: &random),
                    speed: .random(in: 0...15, using: &random),
                    course: .random(in: 0...360, using: &random),
                    timestamp: Date(timeIntervalSince1970: 1_800_000_000 + Double(index))
                )
            )
        }
        let body = try RiderClient.encoder.encode(PositionsBody(positions: positions))
        let packed = VehiclePositionsKit.Gzip.compress(body)
        #expect(packed.count * 5 < body.count * 2)
        #expect(try Web.Gzip.inflate(Array(packed), limit: 1 << 16) == Array(body))
    }
}
