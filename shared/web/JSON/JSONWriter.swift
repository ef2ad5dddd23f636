internal import Telemetry

/// Writes JSON bytes straight into one buffer, members in the order in which they are added.
///
/// The caller keeps the structure right: every `begin` has its `end`, and in an object each value
/// follows a key. Numbers that are not finite become null.
public struct JSONWriter: Sendable {
    /// What has been written so far.
    public private(set) var bytes: [UInt8] = []
    /// True when the next value or key must be set apart from the one before it.
    private var needsComma = false

    /// Makes an empty writer.
    ///
    /// - Parameter capacity: Bytes to reserve.
    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Opens an object as the next value.
    public mutating func beginObject() { open(0x7B) }

    /// Closes the innermost object.
    public mutating func endObject() { close(0x7D) }

    /// Opens an array as the next value.
    public mutating func beginArray() { open(0x5B) }

    /// Closes the innermost array.
    public mutating func endArray() { close(0x5D) }

    /// Writes a member's name.
    public mutating func key(_ name: String) {
        separate()
        JSONText.append(name, to: &bytes)
        bytes.append(0x3A)
        needsComma = false
    }

    /// Writes a text.
    public mutating func value(_ text: String) {
        separate()
        JSONText.append(text, to: &bytes)
        needsComma = true
    }

    /// Writes a whole number.
    public mutating func value(_ number: some BinaryInteger) { raw(String(number)) }

    /// Writes a number with the fewest digits that read back as the same value.
    public mutating func value(_ number: Double) {
        separate()
        JSONNumber.append(number, to: &bytes)
        needsComma = true
    }

    /// Writes true or false.
    public mutating func value(_ flag: Bool) { raw(flag ? "true" : "false") }

    /// Writes null.
    public mutating func null() { raw("null") }

    /// Writes bytes that are already one JSON value.
    public mutating func value(json: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// Writes a member with a text, or null.
    public mutating func member(_ name: String, _ text: String?) {
        key(name)
        if let text { value(text) } else { null() }
    }

    /// Writes a member with a whole number, or null.
    public mutating func member(_ name: String, _ number: (some BinaryInteger)?) {
        key(name)
        if let number { value(number) } else { null() }
    }

    /// Writes a member with a number, or null.
    public mutating func member(_ name: String, _ number: Double?) {
        key(name)
        if let number { value(number) } else { null() }
    }

    /// Writes a member with true, false or null.
    public mutating func member(_ name: String, _ flag: Bool?) {
        key(name)
        if let flag { value(flag) } else { null() }
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(0x2C) }
    }

    private mutating func open(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        needsComma = false
    }

    private mutating func close(_ byte: UInt8) {
        bytes.append(byte)
        needsComma = true
    }
}
