internal import CZeroMQ

/// The one key pair of a fleet, as Z85 text; who holds it belongs to the fleet.
public struct CurveKeys: Sendable, Hashable, CustomStringConvertible {
    /// 40 characters of Z85.
    public let publicKey: String
    /// 40 characters of Z85; never printed.
    public let secretKey: String

    /// Takes a key pair after checking its form and that the halves belong together.
    ///
    /// - Parameters:
    ///   - publicKey: Z85, 40 characters.
    ///   - secretKey: Z85, 40 characters.
    /// - Throws: ``BusError/configuration(_:)`` naming what is wrong, never the key.
    public init(publicKey: String, secretKey: String) throws(BusError) {
        guard Self.decoded(publicKey) != nil else {
            throw .configuration("the public CURVE key is not 40 characters of Z85")
        }
        try self.init(secretKey: secretKey)
        guard self.publicKey == publicKey else {
            throw .configuration("the public CURVE key does not belong to the secret one")
        }
    }

    /// Takes the secret half and makes the public one from it.
    ///
    /// - Parameter secretKey: Z85, 40 characters.
    /// - Throws: ``BusError/configuration(_:)`` naming what is wrong, never the key.
    public init(secretKey: String) throws(BusError) {
        guard Self.decoded(secretKey) != nil else {
            throw .configuration("the secret CURVE key is not 40 characters of Z85")
        }
        var derived = [CChar](repeating: 0, count: 41)
        guard zmq_curve_public(&derived, secretKey) == 0 else {
            throw .configuration("libzmq was built without CURVE")
        }
        self.init(unchecked: Self.text(derived), secretKey)
    }

    private init(unchecked publicKey: String, _ secretKey: String) {
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Makes a new key pair.
    ///
    /// - Returns: The pair.
    /// - Throws: ``BusError/configuration(_:)`` when libzmq was built without CURVE.
    public static func generate() throws(BusError) -> CurveKeys {
        var publicKey = [CChar](repeating: 0, count: 41)
        var secretKey = [CChar](repeating: 0, count: 41)
        guard zmq_curve_keypair(&publicKey, &secretKey) == 0 else {
            throw .configuration("libzmq was built without CURVE")
        }
        return CurveKeys(unchecked: text(publicKey), text(secretKey))
    }

    /// The public half alone.
    public var description: String { "CurveKeys(\(publicKey))" }

    /// The 32 bytes of the public key, as ZAP shows them.
    var publicBytes: [UInt8] { Self.decoded(publicKey) ?? [] }

    private static func decoded(_ text: String) -> [UInt8]? {
        guard text.utf8.count == 40 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 32)
        return zmq_z85_decode(&bytes, text) == nil ? nil : bytes
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix(40).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
