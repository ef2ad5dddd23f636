import Foundation

/// A folder of a test's own below `/tmp`, which every user may enter; it goes with the last reference.
final class OwnFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/alongside-tools-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The lines of a file in it; none when there is no such file.
    func lines(_ name: String) -> [String] {
        let text = try? String(contentsOfFile: path + "/" + name, encoding: .utf8)
        return (text ?? "").split(separator: "\n").map(String.init)
    }
}

/// Runs work to its end on a thread of its own: children end with the thread that started them.
func onOneThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
