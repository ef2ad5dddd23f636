internal import CLinux
internal import FoundationEssentials
internal import Glibc

/// Where this copy of Alongside keeps what is not in its executables.
struct Installation: Sendable {
    /// The folder of the executables.
    let programs: String
    /// The folder that holds `deploy/`.
    let root: String

    /// Finds both from where this program lies.
    ///
    /// - Throws: ``OperationError`` when `deploy/routes.json` is in no folder above the program;
    ///   `ALONGSIDE_HOME` then says where it is.
    init(environment: [String: String]) throws(OperationError) {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        guard length > 0 else { throw OperationError("this program cannot find itself in /proc") }
        let path = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        programs = Self.parent(of: path)
        if let home = environment["ALONGSIDE_HOME"], !home.isEmpty {
            root = home
            return
        }
        var folder = programs
        while !FileManager.default.fileExists(atPath: folder + "/deploy/routes.json") {
            guard !folder.isEmpty else {
                throw OperationError(
                    "deploy/routes.json is in no folder above \(path); set ALONGSIDE_HOME to the "
                        + "folder that holds deploy/"
                )
            }
            folder = Self.parent(of: folder)
        }
        root = folder
    }

    var routes: String { root + "/deploy/routes.json" }
    var demoSchedule: String { root + "/deploy/demo/raba.gtfs.zip" }

    /// A script that operators run, too.
    func script(_ name: String) throws(OperationError) -> String {
        let path = root + "/deploy/" + name
        guard access(path, X_OK) == 0 else {
            throw OperationError("\(path) is missing; set ALONGSIDE_HOME to where deploy/ is")
        }
        return path
    }

    /// An executable of ours.
    func program(_ name: String) throws(OperationError) -> String {
        let path = programs + "/" + name
        guard access(path, X_OK) == 0 else {
            throw OperationError("\(path) is missing; run `make build`")
        }
        return path
    }

    private static func parent(of path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
    }
}
