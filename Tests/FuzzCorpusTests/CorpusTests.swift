import Foundation
import FuzzChecks
import Messages
import TestKit
import Testing

/// The inputs that fuzzing found worth keeping, once more in every test run; a check that fails traps.
@Suite struct CorpusTests {
    private static func files(_ folder: String) throws -> [(name: String, bytes: [UInt8])] {
        let path = ProjectPaths.root + "/fuzz/corpus/" + folder
        return try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { name in
            (name, Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))))
        }
    }

    @Test func `the readers of reports agree on the corpus and all its beginnings`() throws {
        let files = try Self.files("positions")
        #expect(files.count >= 20)
        for file in files {
            for length in 0...file.bytes.count {
                FuzzChecks.positions(Array(file.bytes.prefix(length)))
            }
        }
    }

    @Test func `messages of the corpus are read and written again, whatever is cut off`() throws {
        let files = try Self.files("messages")
        #expect(files.count >= 20)
        for file in files {
            for length in 0...file.bytes.count {
                FuzzChecks.message(Array(file.bytes.prefix(length)))
            }
        }
    }

    @Test func `feeds of the corpus are read and written again, whatever is cut off`() throws {
        let files = try Self.files("feeds")
        #expect(files.count >= 20)
        for file in files {
            for length in 0...file.bytes.count {
                FuzzChecks.feed(Array(file.bytes.prefix(length)))
            }
        }
    }

    @Test func `live frames of the corpus mean what strict JSON says, whatever is cut off`() throws
    {
        let files = try Self.files("frames")
        #expect(files.count >= 20)
        for file in files {
            for length in 0...file.bytes.count {
                FuzzChecks.frame(Array(file.bytes.prefix(length)))
            }
        }
    }

    @Test func `sockets of the corpus come to the same however they are cut`() throws {
        let files = try Self.files("sockets")
        #expect(files.count >= 20)
        for file in files {
            for size in [UInt8](0...20) + [63, 255] {
                FuzzChecks.socket([size] + file.bytes)
            }
            for length in 0...file.bytes.count {
                FuzzChecks.socket([3] + file.bytes.prefix(length))
            }
        }
    }

    @Test(arguments: 0..<2000) func `reports with changed bytes are read alike`(seed: Int) throws {
        let files = try Self.files("positions")
        var random = SplitMix(seed: UInt64(seed))
        guard var bytes = files.randomElement(using: &random)?.bytes, !bytes.isEmpty else { return }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            bytes[place] =
                Array("0123456789-+.eE\"\\{}[],:ntf \u{0}".utf8)
                .randomElement(using: &random) ?? 0
        }
        FuzzChecks.positions(bytes)
    }

    @Test(arguments: 0..<2000) func `frames and sockets with changed bytes hold`(
        seed: Int
    ) throws {
        var random = SplitMix(seed: UInt64(seed))
        for folder in ["frames", "sockets"] {
            let files = try Self.files(folder)
            guard var bytes = files.randomElement(using: &random)?.bytes, !bytes.isEmpty else {
                continue
            }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            if folder == "frames" {
                FuzzChecks.frame(bytes)
            } else {
                FuzzChecks.socket([UInt8.random(in: 0...40, using: &random)] + bytes)
            }
        }
    }
}

/// Random numbers from a seed, so that a failing case can be made again.
private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
