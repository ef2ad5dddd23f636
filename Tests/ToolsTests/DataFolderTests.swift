import Foundation
import Testing

@testable import Operations

@Suite struct DataFolderTests {
    private let own: OwnFolder

    init() throws { own = try OwnFolder() }

    @Test func `makes the folders above it, too`() throws {
        let folder = try DataFolder(opening: own.path + "/a/b/c")
        #expect(folder.path == own.path + "/a/b/c")
        let mode = try FileManager.default.attributesOfItem(atPath: folder.keys)[.posixPermissions]
        #expect(mode as? Int == 0o700)
    }

    @Test func `a file in its place is named as one`() throws {
        try "x".write(toFile: own.path + "/file", atomically: true, encoding: .utf8)
        for path in ["/file", "/file/below"] {
            let error = #expect(throws: OperationError.self) {
                try DataFolder(opening: own.path + path)
            }
            let sentence = "\(own.path)/file is needed as a folder, but is a file"
            #expect(error?.description == sentence)
        }
    }

    @Test func `keeps a secret, and names the file of one that is cut`() throws {
        let folder = try DataFolder(opening: own.path)
        let secret = try folder.secret("jwt-secret")
        #expect(secret.value.utf8.count == 64)
        #expect(try folder.secret("jwt-secret").value == secret.value)
        for (length, isFine) in [(32, true), (31, false)] {
            let cut = String(secret.value.prefix(length))
            try cut.write(toFile: secret.path, atomically: true, encoding: .utf8)
            if isFine {
                #expect(try folder.secret("jwt-secret").value == cut)
            } else {
                let error = #expect(throws: OperationError.self) {
                    try folder.secret("jwt-secret")
                }
                #expect(error?.description.hasPrefix(secret.path) == true)
            }
        }
    }

    @Test func `is one process's at a time, and the second hears whose`() throws {
        let folder = try DataFolder(opening: own.path)
        let first = try folder.lock(port: 8080)
        let error = #expect(throws: OperationError.self) { try folder.lock(port: 8081) }
        let sentence =
            "\(own.path) is in use by another alongside up (process \(getpid()), port 8080); stop it, "
            + "or set ALONGSIDE_DATA and PORT to others"
        #expect(error?.description == sentence)
        #expect(own.lines("lock") == ["\(getpid()) 8080"])
        close(first)
        close(try folder.lock(port: 8081))
        #expect(own.lines("lock") == ["\(getpid()) 8081"])
    }

    @Test func `clears its folders below tmp, and writes their names down before`() throws {
        let folder = try DataFolder(opening: own.path)
        let temporary = try TemporaryFolders(of: folder, nil)
        try PrivateFolder.make(temporary.sockets, owner: geteuid(), group: getegid())
        try "".write(toFile: temporary.sockets + "/s", atomically: true, encoding: .utf8)
        #expect(own.lines("temporary-folders") == [temporary.sockets])
        temporary.remove()
        #expect(!FileManager.default.fileExists(atPath: temporary.sockets))
    }
}
