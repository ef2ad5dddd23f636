import Foundation
import Testing

@testable import Operations

@Suite struct LogLimitTests {
    private let folder: OwnFolder
    private let log: String
    /// As a child holds it: open for appending, whatever happens to the file.
    private let held: Int32

    init() throws {
        folder = try OwnFolder()
        log = folder.path + "/log"
        held = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o640)
    }

    @Test func `leaves a log within its limit alone`() throws {
        append(100, "a")
        LogLimit.hold(log, to: 100)
        #expect(try size(log) == 100)
        #expect(!FileManager.default.fileExists(atPath: log + ".1"))
    }

    @Test func `keeps one older file and goes on with an empty one`() throws {
        append(101, "a")
        LogLimit.hold(log, to: 100)
        #expect(try size(log) == 0)
        #expect(try size(log + ".1") == 101)
        append(102, "b")
        // Appended at the new end, not where the old one was.
        #expect(try size(log) == 102)
        LogLimit.hold(log, to: 100)
        #expect(try String(contentsOfFile: log + ".1", encoding: .utf8).hasPrefix("bb"))
        #expect(try size(log + ".1") == 102)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        close(held)
    }

    @Test func `empties the log even when no older file can be made`() throws {
        append(101, "a")
        try FileManager.default.createDirectory(
            atPath: log + ".1",
            withIntermediateDirectories: false
        )
        LogLimit.hold(log, to: 100)
        #expect(try size(log) == 0)
        close(held)
    }

    @Test func `does not mind a log that is not there`() {
        LogLimit.hold(folder.path + "/none", to: 0)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/none"))
    }

    private func append(_ count: Int, _ letter: String) {
        let bytes = Array(String(repeating: letter, count: count).utf8)
        #expect(write(held, bytes, count) == count)
    }

    private func size(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    }
}
