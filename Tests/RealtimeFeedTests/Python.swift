import Glibc

/// The project's own Python with the pinned, independent tools, and the folder of captures.
enum Python {
    static let root: String = {
        // <root>/Tests/RealtimeFeedTests/Python.swift
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            .joined(separator: "/")
    }()

    static let captures = root + "/../shared/data/captures"
    static let interpreter = root + "/.venv/bin/python"
    static let oracle = root + "/Tests/RealtimeFeedTests/oracle.py"

    struct Outcome {
        let status: Int32
        let output: String
    }

    /// Runs a program and waits for it; what it prints and complains about is the output.
    static func run(_ arguments: String...) -> Outcome {
        let folder = TemporaryFolder()
        let log = folder.path + "/output"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var vector = arguments.map { strdup($0) }
        vector.append(nil)
        defer { for argument in vector { free(argument) } }
        var process: pid_t = 0
        let failure = posix_spawnp(&process, arguments[0], &actions, nil, vector, environ)
        guard failure == 0 else {
            return Outcome(
                status: -1,
                output: "\(arguments[0]) does not start; run scripts/bootstrap --tests"
            )
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {}
        let output = String(decoding: (try? File.read(log)) ?? [], as: UTF8.self)
        return Outcome(status: status, output: output)
    }
}

/// A folder that goes with the value.
final class TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/realtime-feed-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, let made = mkdtemp(base) else { return "/tmp" }
            return String(cString: made)
        }
    }

    deinit {
        for name in File.names(in: path) { unlink(path + "/" + name) }
        rmdir(path)
    }
}

enum File {
    struct Failure: Error { let path: String }

    static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw Failure(path: path) }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        let size = ftell(file)
        rewind(file)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = fread(buffer.baseAddress, 1, size, file)
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "wb") else { throw Failure(path: path) }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure(path: path) }
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
