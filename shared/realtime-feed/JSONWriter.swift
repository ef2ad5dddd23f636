internal import Telemetry

/// Writes JSON straight into bytes: an encoder of values would cost thirty times as much.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func object(_ body: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        body(&self)
        close(UInt8(ascii: "}"))
    }

    mutating func array<Element>(
        _ elements: [Element],
        _ body: (Element, inout JSONWriter) -> Void
    ) {
        open(UInt8(ascii: "["))
        for element in elements { body(element, &self) }
        close(UInt8(ascii: "]"))
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// The name of the next value; names are ours and need no escaping.
    mutating func key(_ name: StaticString) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func raw(_ text: String) {
        comma()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    mutating func null() { raw("null") }

    mutating func number(_ value: Float) {
        if value.isFinite {
            raw(value.description)
        } else {
            raw(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
        }
    }

    mutating func number(_ value: Double) {
        if value.isFinite {
            raw(value.description)
        } else {
            raw(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
        }
    }

    mutating func field(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        key(name)
        // As in the protobuf form, texts lose their NULs.
        let clean = text.utf8.contains(0) ? text.filter { $0 != "\0" } : text
        JSONText.append(clean, to: &bytes)
        needsComma = true
    }

    mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        raw(value ? "true" : "false")
    }

    mutating func field(_ name: StaticString, _ value: Float?) {
        guard let value else { return }
        key(name)
        number(value)
    }

    mutating func field(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        key(name)
        number(value)
    }

    mutating func field(_ name: StaticString, _ value: UInt32?) {
        guard let value else { return }
        key(name)
        raw(String(value))
    }

    mutating func field(_ name: StaticString, _ value: Int32?) {
        guard let value else { return }
        key(name)
        raw(String(value))
    }

    mutating func field(_ name: StaticString, _ value: UInt64?) {
        guard let value else { return }
        key(name)
        raw("\"\(value)\"")
    }

    mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        key(name)
        raw("\"\(value)\"")
    }
}
