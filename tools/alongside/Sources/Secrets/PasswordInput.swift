internal import Glibc

/// Reads a new password from standard input: asked for twice at a terminal, else the first line.
enum PasswordInput {
    /// Longer than any password may be, its line feed included.
    private static let byteLimit = 4096

    /// Reads a password.
    ///
    /// - Throws: ``OperationError`` when none comes, or two that differ.
    static func read() throws(OperationError) -> String {
        guard isatty(0) == 1 else { return try line() }
        let first = try prompt("password: ")
        guard try prompt("again: ") == first else {
            throw OperationError("the two passwords differ")
        }
        return first
    }

    /// Asks without showing what is typed.
    private static func prompt(_ text: String) throws(OperationError) -> String {
        var shown = termios()
        tcgetattr(0, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(0, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(0, TCSAFLUSH, &shown)
            write("\n")
        }
        write(text)
        return try line()
    }

    private static func line() throws(OperationError) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        // Byte by byte: whatever follows the line belongs to whoever reads next.
        while bytes.count <= byteLimit, Glibc.read(0, &byte, 1) == 1, byte != 0x0A {
            bytes.append(byte)
        }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else {
            throw OperationError("no password came; type one, pipe one in, or use --generate")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw OperationError("the password is not UTF-8 text")
        }
        return text
    }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(2, bytes, bytes.count)
    }
}
