internal import CZip
internal import Glibc

/// The files of a zip in memory.
///
/// Sizes are looked at before anything is unpacked, and a file that turns out longer or shorter than
/// its directory entry says is refused.
final class ZipReader {
    /// The names of all files, as stored.
    let names: [String]

    private let source: String
    private let archive: OpaquePointer
    private var remaining: Int

    /// The most bytes that all files read from one archive may unpack to: stop_times.txt of the
    /// largest national feeds has about 1 GB.
    static let unpackedLimit = 2 << 30
    /// The most files an archive may hold; a feed has about twenty.
    static let fileLimit = 10_000

    init(
        _ bytes: [UInt8],
        source: String,
        unpackedLimit: Int = ZipReader.unpackedLimit
    ) throws(ScheduleError) {
        self.source = source
        remaining = unpackedLimit
        var error = zip_error_t()
        zip_error_init(&error)
        defer { zip_error_fini(&error) }
        let copy = copyForZip(bytes)
        guard copy != nil || bytes.isEmpty,
            let buffer = zip_source_buffer_create(copy, UInt64(bytes.count), 1, &error)
        else {
            free(copy)
            throw ScheduleError(source: source, reason: "there is no memory for the zip")
        }
        guard let archive = zip_open_from_source(buffer, ZIP_RDONLY, &error) else {
            zip_source_free(buffer)
            let reason = String(cString: zip_error_strerror(&error))
            throw ScheduleError(source: source, reason: "the zip cannot be opened: \(reason)")
        }
        self.archive = archive
        let count = Int(zip_get_num_entries(archive, 0))
        guard count <= Self.fileLimit else {
            zip_discard(archive)
            throw ScheduleError(
                source: source,
                reason: "the zip holds \(count) files, more than \(Self.fileLimit)"
            )
        }
        names = (0..<count).map { index in
            zip_get_name(archive, UInt64(index), 0).map { String(cString: $0) } ?? ""
        }
    }

    deinit { zip_discard(archive) }

    /// Unpacks a file.
    func read(_ index: Int, as file: String) throws(ScheduleError) -> [UInt8] {
        var status = zip_stat_t()
        zip_stat_init(&status)
        guard zip_stat_index(archive, UInt64(index), 0, &status) == 0,
            status.valid & UInt64(ZIP_STAT_SIZE) != 0
        else { throw failure(file, "its size is unknown") }
        guard status.size <= UInt64(remaining) else {
            throw failure(
                file,
                "it unpacks to \(status.size) bytes, and \(remaining) are left of the limit"
            )
        }
        guard let handle = zip_fopen_index(archive, UInt64(index), 0) else {
            throw failure(file, "it cannot be unpacked: \(String(cString: zip_strerror(archive)))")
        }
        defer { zip_fclose(handle) }
        let size = Int(status.size)
        remaining -= size
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size, let base = buffer.baseAddress {
                let got = zip_fread(handle, base + count, UInt64(size - count))
                guard got > 0 else { break }
                count += Int(got)
            }
        }
        // libzip checks the sum only when it reaches the end, hence one byte more.
        var extra: UInt8 = 0
        guard bytes.count == size, zip_fread(handle, &extra, 1) == 0 else {
            throw failure(file, "it is damaged or not as long as the zip says")
        }
        return bytes
    }

    private func failure(_ file: String, _ reason: String) -> ScheduleError {
        ScheduleError(source: source, file: file, reason: reason)
    }
}

/// Writes zips.
public enum ZipArchive {
    /// Packs files into a zip whose bytes depend on nothing but them.
    ///
    /// - Parameter files: Names and contents, in the order in which they are stored.
    /// - Returns: The zip.
    /// - Throws: ``ScheduleError`` when libzip gives up, which takes a lack of memory.
    public static func write(
        _ files: [(name: String, bytes: [UInt8])]
    ) throws(ScheduleError) -> [UInt8] {
        var error = zip_error_t()
        zip_error_init(&error)
        defer { zip_error_fini(&error) }
        guard let target = zip_source_buffer_create(nil, 0, 0, &error) else { throw failure }
        zip_source_keep(target)
        defer { zip_source_free(target) }
        guard let archive = zip_open_from_source(target, ZIP_TRUNCATE, &error) else {
            zip_source_free(target)
            throw failure
        }
        for file in files {
            guard add(file.name, file.bytes, to: archive) else {
                zip_discard(archive)
                throw failure
            }
        }
        guard zip_close(archive) == 0 else {
            zip_discard(archive)
            throw failure
        }
        return try contents(of: target)
    }

    private static var failure: ScheduleError {
        ScheduleError(source: "zip", reason: "it cannot be written")
    }

    private static func add(
        _ name: String,
        _ bytes: [UInt8],
        to archive: OpaquePointer
    ) -> Bool {
        let copy = copyForZip(bytes)
        guard copy != nil || bytes.isEmpty,
            let source = zip_source_buffer(archive, copy, UInt64(bytes.count), 1)
        else {
            free(copy)
            return false
        }
        let index = zip_file_add(archive, name, source, UInt32(ZIP_FL_ENC_UTF_8))
        guard index >= 0 else {
            zip_source_free(source)
            return false
        }
        // 1 January 1980, the first date that a zip can write, so that no clock leaks in.
        return zip_file_set_dostime(archive, UInt64(index), 0, 0x21, 0) == 0
    }

    private static func contents(of source: OpaquePointer) throws(ScheduleError) -> [UInt8] {
        var status = zip_stat_t()
        zip_stat_init(&status)
        guard zip_source_stat(source, &status) == 0, zip_source_open(source) == 0 else {
            throw failure
        }
        defer { zip_source_close(source) }
        let size = Int(status.size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size, let base = buffer.baseAddress {
                let got = zip_source_read(source, base + count, UInt64(size - count))
                guard got > 0 else { break }
                count += Int(got)
            }
        }
        guard bytes.count == size else { throw failure }
        return bytes
    }
}

/// A copy that libzip frees with its source, so that no pointer into an array outlives its call.
///
/// - Returns: nil without memory, and for no bytes: those libzip would not free.
private func copyForZip(_ bytes: [UInt8]) -> UnsafeMutableRawPointer? {
    guard !bytes.isEmpty, let copy = malloc(bytes.count) else { return nil }
    bytes.withUnsafeBytes { from in
        if let base = from.baseAddress { _ = memcpy(copy, base, from.count) }
    }
    return copy
}
