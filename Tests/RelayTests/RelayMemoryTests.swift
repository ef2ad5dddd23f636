import Foundation
import TestKit
import Testing

@testable import RelayService

/// What operators start gives a relay the memory that its own bounds allow.
@Suite struct RelayMemoryTests {
    @Test(arguments: [
        ("deploy/docker-compose.yml", "\n  relay:\n", "memory: "),
        ("deploy/systemd/alongside@.service", "[Service]", "MemoryMax="),
    ])
    func `who stops reading meets a bound of the relay before the system's`(
        file: String,
        part: String,
        key: String
    ) throws {
        let text = try String(contentsOfFile: ProjectPaths.root + "/" + file, encoding: .utf8)
        let section = try #require(text.components(separatedBy: part).dropFirst().first)
        let limit = try #require(section.components(separatedBy: key).dropFirst().first)
        let gigabytes = try #require(Int(limit.prefix { $0.isNumber }))
        #expect(limit.dropFirst("\(gigabytes)".count).first == "G")
        let limits = RelayLimits()
        // The kernel doubles what it is asked for.
        let kernel = limits.sockets * 2 * limits.sendBufferBytes
        // Six kilobytes are the bar for an idle socket (`bench relay idle`); the rest is the program's own.
        let idle = limits.sockets * 6000 + 64 << 20
        // A socket that is gone keeps its session; the claims of ended ones weigh little beside that.
        let departed = 2 * limits.rememberedDepartures * 1000
        let own = limits.queuedBytes + limits.unfinishedBytes + idle + departed
        #expect(gigabytes << 30 > kernel + own)
    }
}
