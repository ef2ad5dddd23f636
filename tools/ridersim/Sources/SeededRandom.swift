/// A small generator whose whole future follows from its seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// A generator for one purpose: equal parts give equal numbers, neighbours differ wholly.
    init(seed: UInt64, _ parts: UInt64...) {
        var mixer = SeededRandom(seed: seed)
        for part in parts { mixer = SeededRandom(seed: mixer.next() ^ part) }
        self = mixer
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func uniform(_ range: ClosedRange<Double>) -> Double {
        Double.random(in: range, using: &self)
    }
}
