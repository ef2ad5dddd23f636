import ServiceKit
import Testing

/// Keys that are shown once and kept as their digest.
@Suite struct OpaqueKeyTests {
    @Test func `the digest is SHA-256 in hexadecimal`() throws {
        // FIPS 180-4's example.
        let key = try #require(OpaqueKey("abc"))
        #expect(
            key.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test func `new keys differ, begin as asked and hold 256 random bits`() {
        let keys = (0..<100).map { _ in OpaqueKey(randomWithPrefix: "vpk_").text.revealed() }
        #expect(Set(keys).count == 100)
        #expect(keys.allSatisfy { $0.hasPrefix("vpk_") && $0.utf8.count == 47 })
    }

    @Test(arguments: [(0, false), (1, true), (256, true), (257, false)])
    func `what is too long to be a key is none`(length: Int, isKey: Bool) {
        #expect((OpaqueKey(String(repeating: "a", count: length)) != nil) == isKey)
    }
}
