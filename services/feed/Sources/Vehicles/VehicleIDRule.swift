internal import Transit
internal import Web

extension VehicleID {
    /// Characters of an id that drivers and admins may use (spec 1.4).
    static var characterLimit: Int { 50 }

    /// Checks an id: letters, digits, dots, hyphens and underscores, so that no id collides with
    /// those of rider entities, which hold a colon.
    ///
    /// - Parameters:
    ///   - text: The id; empty when it was left out.
    ///   - field: What sentences call it, `vehicle_id` or `vehicle id`.
    /// - Throws: 400 naming the first rule that is broken (spec 1.6).
    init(checking text: String, named field: String) throws(HTTPError) {
        guard !text.isEmpty else {
            throw .badRequest("\(field) is required", code: "vehicle_id.required")
        }
        guard text.unicodeScalars.count <= Self.characterLimit else {
            throw .badRequest(
                "\(field) must be at most \(Self.characterLimit) characters",
                code: "vehicle_id.too_long"
            )
        }
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isPlain else {
            throw .badRequest(
                "\(field) must contain only alphanumeric characters, dots, hyphens, and underscores",
                code: "vehicle_id.invalid"
            )
        }
        self.init(text)
    }
}
