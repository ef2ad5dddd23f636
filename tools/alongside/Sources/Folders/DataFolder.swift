internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import ServiceKit

/// What `alongside up` keeps between runs: the private database, keys and logs.
struct DataFolder: Sendable {
    /// The layout of this folder; another version is refused rather than half understood.
    static let version = "1"

    let path: String

    var logs: String { path + "/logs" }
    var keys: String { path + "/keys" }
    var gateway: String { path + "/gateway" }
    var schedules: String { path + "/schedules" }

    /// Opens a folder, making it when it is missing.
    ///
    /// - Throws: ``OperationError`` when another version wrote it or it cannot be written.
    init(opening path: String) throws(OperationError) {
        let absolute = Self.absolute(path)
        try Self.makeFolder(absolute, mode: 0o755)
        // One folder has one name, however it is spelled: the database's place is made from it.
        guard let real = realpath(absolute, nil) else {
            throw OperationError("cannot use the folder \(absolute): \(lastErrorText())")
        }
        self.path = String(cString: real)
        free(real)
        let versionFile = self.path + "/version"
        if let found = Self.text(of: versionFile) {
            guard found == Self.version else {
                throw OperationError(
                    "\(self.path) was written by data version \(found), this program reads version "
                        + "\(Self.version); move the folder away or set ALONGSIDE_DATA to another one"
                )
            }
        } else {
            try Self.write(Self.version + "\n", to: versionFile, mode: 0o644)
        }
        for folder in [logs, gateway, schedules] { try Self.makeFolder(folder, mode: 0o755) }
        try Self.makeFolder(keys, mode: 0o700)
    }

    /// Holds the folder for this process, so that two `up` never share a database.
    ///
    /// - Parameter port: Where this `up` listens, for whoever comes second.
    /// - Returns: The descriptor that keeps the lock; it is released when the process ends.
    /// - Throws: ``OperationError`` when another process holds it, saying which.
    func lock(port: Int) throws(OperationError) -> Int32 {
        let file = path + "/lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw OperationError("cannot write in \(path): \(lastErrorText())")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            let holder = (Self.text(of: file) ?? "").split(separator: " ")
            let which = holder.count == 2 ? " (process \(holder[0]), port \(holder[1]))" : ""
            throw OperationError(
                "\(path) is in use by another alongside up\(which); stop it, or set ALONGSIDE_DATA and "
                    + "PORT to others"
            )
        }
        let holder = Array("\(getpid()) \(port)\n".utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, holder, holder.count, 0) > 0 else {
            close(descriptor)
            throw OperationError("cannot write \(file): \(lastErrorText())")
        }
        return descriptor
    }

    /// A secret that is made once and kept, readable by its owner only.
    ///
    /// - Parameter name: The file's name under `keys`.
    /// - Returns: The file's path and the secret, 64 hexadecimal digits (256 random bits).
    /// - Throws: ``OperationError`` when the file cannot be written.
    func secret(_ name: String) throws(OperationError) -> (path: String, value: String) {
        let file = keys + "/" + name
        if let value = Self.text(of: file), !value.isEmpty {
            guard value.utf8.count >= KeyRing.secretBytes else {
                throw OperationError(
                    "\(file) holds less than \(KeyRing.secretBytes) bytes, which is no secret of ours; "
                        + "restore it, or remove it to make a new one"
                )
            }
            return (file, value)
        }
        let value = SecretsFolder.random()
        try Self.write(value + "\n", to: file, mode: 0o600)
        return (file, value)
    }

    /// Writes a file whole: a reader sees the old text or the new, never a part.
    static func write(_ text: String, to path: String, mode: mode_t) throws(OperationError) {
        try write(Array(text.utf8), to: path, mode: mode)
    }

    /// Writes bytes whole: a reader sees the old file or the new, never a part.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(OperationError) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw OperationError("cannot write \(path): \(lastErrorText())")
        }
        var complete = true
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(
                    descriptor,
                    UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                    rest.count
                )
                guard count > 0 else {
                    complete = false
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
        complete = fsync(descriptor) == 0 && complete
        close(descriptor)
        guard complete, rename(temporary, path) == 0 else {
            throw OperationError("cannot write \(path): \(lastErrorText())")
        }
    }

    /// A small file's text without the white space around it; nil when it cannot be read.
    static func text(of path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return String(decoding: data, as: UTF8.self).trimmed
    }

    /// Makes a folder and its parents; one that exists keeps its mode.
    static func makeFolder(_ path: String, mode: mode_t) throws(OperationError) {
        var information = stat()
        if stat(path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFDIR else {
                throw OperationError("\(path) is needed as a folder, but is a file")
            }
            return
        }
        let parent = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        if !parent.isEmpty { try makeFolder(parent, mode: 0o755) }
        guard mkdir(path, mode) == 0 || alongside_errno() == EEXIST else {
            throw OperationError("cannot make the folder \(path): \(lastErrorText())")
        }
        // Past the mask that we were started with.
        chmod(path, mode)
    }

    /// A path that does not depend on the folder we stand in.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}

extension String {
    /// The text without white space at its ends.
    var trimmed: String {
        var view = self[...]
        while let first = view.first, first.isWhitespace { view = view.dropFirst() }
        while let last = view.last, last.isWhitespace { view = view.dropLast() }
        return String(view)
    }
}
