/// Where the files that tests read lie, found from this source file's own place.
public enum ProjectPaths {
    /// The root of the repository.
    public static let root = ancestor(of: #filePath, levels: 3)

    /// Feeds and captures shared between builders, beside the repository.
    public static let sharedData = ancestor(of: root, levels: 1) + "/shared/data"

    /// Fixtures that are committed.
    public static let fixtures = root + "/Tests/Fixtures"

    private static func ancestor(of path: String, levels: Int) -> String {
        path.split(separator: "/").dropLast(levels).map { "/" + $0 }.joined()
    }
}
