/// What is switched on: one value that sender, receiver and user interface all read.
public struct CompanionFeatures: Sendable, Equatable {
    /// Whether live positions come and go over a socket.
    public var liveRelay: Bool
    /// Whether voice frames are sent and heard; servers drop them today (seed section 6.4).
    public var voice: Bool

    /// What this version supports: the live relay without voice.
    public static let standard = CompanionFeatures()

    /// Makes a set of features.
    ///
    /// - Parameters:
    ///   - liveRelay: Whether the relay is used.
    ///   - voice: Whether voice is.
    public init(liveRelay: Bool = true, voice: Bool = false) {
        self.liveRelay = liveRelay
        self.voice = voice
    }
}
