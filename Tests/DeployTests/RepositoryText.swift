import Foundation
import TestKit

/// A file of the repository.
func text(of path: String) throws -> String {
    try String(contentsOfFile: ProjectPaths.root + "/" + path, encoding: .utf8)
}
