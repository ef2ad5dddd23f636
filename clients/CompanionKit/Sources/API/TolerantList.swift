/// A list of which each row that cannot be read costs itself alone.
///
/// One member's odd place must not blind the others for all places of their circle.
struct TolerantList<Element: Decodable & Sendable>: Decodable, Sendable {
    private struct Row: Decodable {
        let element: Element?

        init(from decoder: any Decoder) throws {
            element = try? Element(from: decoder)
        }
    }

    /// The rows that can be read, in their order.
    let elements: [Element]

    init(from decoder: any Decoder) throws {
        elements = try [Row](from: decoder).compactMap(\.element)
    }
}
