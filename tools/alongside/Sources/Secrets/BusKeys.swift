internal import Bus

/// The fleet's key pair for a bus over tcp, made once and kept.
enum BusKeys {
    static func kept(in folder: DataFolder) throws(OperationError) -> CurveKeys {
        let file = folder.keys + "/bus-curve"
        do {
            if let text = DataFolder.text(of: file) {
                let halves = text.split(separator: " ").map(String.init)
                guard halves.count == 2 else {
                    throw OperationError("\(file) is not a key pair; remove it to make a new one")
                }
                return try CurveKeys(publicKey: halves[0], secretKey: halves[1])
            }
            let keys = try CurveKeys.generate()
            try DataFolder.write("\(keys.publicKey) \(keys.secretKey)\n", to: file, mode: 0o600)
            return keys
        } catch let error as OperationError {
            throw error
        } catch {
            throw OperationError("\(file): \(error)")
        }
    }
}
