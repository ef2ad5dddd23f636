internal import FoundationEssentials
internal import Telemetry

/// Files of a folder, read once at start and answered from memory.
///
/// What is not in the folder at start cannot be asked for, so no path leads outside.
public struct StaticFiles: Sendable {
    /// The most bytes that all files of a folder may have together.
    public static let maximumBytes = 32 << 20

    /// Why a folder cannot be served.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// One sentence that names the file.
        public let description: String
    }

    private let files: [[String]: ConditionalContent]

    /// Reads a folder and its folders; hidden files are left out.
    ///
    /// - Parameters:
    ///   - folder: The path of the folder.
    ///   - headers: More headers of every answer, such as `Content-Security-Policy`.
    /// - Throws: ``Failure`` for what cannot be read and for too many bytes.
    public init(folder: String, headers: [(String, String)] = []) throws(Failure) {
        let manager = FileManager.default
        var files: [[String]: ConditionalContent] = [:]
        var total = 0
        guard let paths = try? manager.subpathsOfDirectory(atPath: folder) else {
            throw Failure(description: "cannot read the folder \(folder)")
        }
        for path in paths {
            let segments = path.split(separator: "/").map(String.init)
            guard !segments.contains(where: { $0.hasPrefix(".") }) else { continue }
            var isFolder = false
            let full = folder + "/" + path
            guard manager.fileExists(atPath: full, isDirectory: &isFolder), !isFolder else {
                continue
            }
            guard let data = manager.contents(atPath: full) else {
                throw Failure(description: "cannot read the file \(full)")
            }
            total += data.count
            guard total <= Self.maximumBytes else {
                throw Failure(
                    description: "\(folder) has more than \(Self.maximumBytes) bytes at \(path)"
                )
            }
            files[segments] = ConditionalContent(
                Array(data),
                contentType: Self.contentType(path),
                headers: headers + [("X-Content-Type-Options", "nosniff")]
            )
        }
        self.files = files
    }

    /// The endpoint that answers the files below a prefix; a folder answers its `index.html`.
    ///
    /// - Parameters:
    ///   - prefix: The path in front, such as `/console`; empty for the root.
    ///   - access: Who may read.
    /// - Returns: One endpoint.
    public func endpoint(at prefix: String, access: Access) -> Endpoint {
        let depth = prefix.split(separator: "/").count
        return Endpoint(
            .get,
            prefix + "/{file...}",
            access: access,
            bodyLimit: 0,
            logLevel: .debug,
            inline: { [files] request in
                var path = Array(request.path.dropFirst(depth))
                if path.last?.isEmpty ?? true {
                    _ = path.popLast()
                    path.append("index.html")
                }
                guard let file = files[path] else { throw HTTPError.notFound }
                return file.response(to: request)
            }
        )
    }

    private static func contentType(_ path: String) -> String {
        switch path.split(separator: ".").last?.lowercased() {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "json", "map": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "txt": "text/plain; charset=utf-8"
        case "webmanifest": "application/manifest+json"
        default: "application/octet-stream"
        }
    }
}
