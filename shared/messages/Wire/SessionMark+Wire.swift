internal import CAlongsideMessages
internal import Transit

extension SessionMark {
    func wire(_ arena: WireArena) -> UnsafeMutablePointer<Alongside__SessionMark> {
        arena.message(alongside__session_mark__init) { wire in
            if let tokenDigest {
                (wire.has_token_digest, wire.token_digest) = (1, arena.id(tokenDigest))
            }
            if let issuedAt { (wire.has_issued_at, wire.issued_at) = (1, issuedAt) }
        }
    }

    init(_ wire: Alongside__SessionMark) throws(MessageError) {
        self.init(
            tokenDigest: wire.has_token_digest != 0
                ? try uniqueID(1, wire.token_digest, "token_digest") : nil,
            issuedAt: wire.has_issued_at != 0 ? wire.issued_at : nil
        )
    }
}
