import Foundation

/// Files of the tests.
enum FileBytes {
    /// The bytes of a file; nil when it cannot be read.
    static func read(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
}
