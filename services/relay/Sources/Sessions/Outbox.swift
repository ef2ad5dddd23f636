internal import Transit

/// What waits for one client.
///
/// Positions are latest-wins for each sender and merge into one frame; every other frame keeps its place
/// and parts the positions before it from those after it, so that a `left` is never undone by an older
/// fix (spec 2.5).
struct Outbox {
    /// A frame that is not a list of positions.
    struct Frame {
        let bytes: [UInt8]
        /// What it is about, so that it can be taken back; nil for what concerns the client alone.
        var group: UniqueID?
        /// Who caused it.
        var sender: UniqueID?
        /// Whether it can be read over HTTP all the same.
        var isStored = false
    }

    private enum Item {
        /// Positions between two other frames.
        case run([Position])
        case frame(Frame)
    }

    /// Older positions of a sender are looked for when so many wait.
    private static let compactAt = 64

    /// What is in front of the last frame, and the frame.
    private var items: [Item] = []
    private var first = 0
    /// The positions behind the last frame.
    private var tail: [Position] = []
    private var compactAt = Self.compactAt
    /// The frames that are not positions.
    private(set) var frameCount = 0
    /// Their bytes.
    private(set) var frameBytes = 0

    var isEmpty: Bool { first == items.count && tail.isEmpty }

    /// How many positions wait, superseded ones included.
    var positionCount: Int {
        items[first...].reduce(tail.count) { count, item in
            if case .run(let run) = item { count + run.count } else { count }
        }
    }

    // MARK: - In

    /// Adds a position.
    mutating func add(_ position: Position) {
        tail.append(position)
        guard tail.count >= compactAt else { return }
        tail = PositionComposer.newest(tail)
        compactAt = max(Self.compactAt, tail.count * 2)
    }

    /// Adds another frame behind everything.
    mutating func add(_ frame: Frame) {
        if !tail.isEmpty {
            items.append(.run(tail))
            tail = []
            compactAt = Self.compactAt
        }
        items.append(.frame(frame))
        frameCount += 1
        frameBytes += frame.bytes.count
    }

    // MARK: - Out

    /// A frame as it is written.
    struct Ready {
        let bytes: [UInt8]
        /// How many positions are in it.
        var positions = 0
    }

    /// The next frames as bytes, at most so many; they stay until ``drop(_:)``.
    func next(_ limit: Int, _ composer: inout PositionComposer) -> [Ready] {
        var frames: [Ready] = []
        next(limit, &composer, into: &frames)
        return frames
    }

    /// Puts the next frames into a list that is empty, whose memory is used again and again.
    func next(_ limit: Int, _ composer: inout PositionComposer, into frames: inout [Ready]) {
        var index = first
        while index < items.count, frames.count < limit {
            switch items[index] {
            case .frame(let frame): frames.append(Ready(bytes: frame.bytes))
            case .run(let run): frames.append(composer.frame(of: run))
            }
            index += 1
        }
        if index == items.count, frames.count < limit, !tail.isEmpty {
            frames.append(composer.frame(of: tail))
        }
    }

    /// Drops the first frames, which were sent.
    mutating func drop(_ count: Int) {
        let last = min(first + count, items.count)
        for index in first..<last {
            guard case .frame(let frame) = items[index] else { continue }
            frameCount -= 1
            frameBytes -= frame.bytes.count
        }
        if first + count > items.count {
            // A little room is kept: the next turn brings as many.
            if tail.capacity > Self.compactAt {
                tail = []
            } else {
                tail.removeAll(keepingCapacity: true)
            }
            compactAt = Self.compactAt
        }
        first = last
        if first == items.count {
            items = []
            first = 0
        } else if first > 32, first * 2 > items.count {
            items.removeFirst(first)
            first = 0
        }
    }

    // MARK: - Taking back

    /// Takes back everything that someone caused in a group, and all positions of theirs.
    ///
    /// Which group a position was for is not known any more, so those for another group go too: the
    /// sender's next fix brings it there again.
    ///
    /// - Parameters:
    ///   - sender: Who.
    ///   - group: Where.
    ///   - keepsStored: Whether frames stay that can be read over HTTP all the same.
    mutating func takeBack(_ sender: UniqueID, in group: UniqueID, keepsStored: Bool = false) {
        rewrite {
            $0.sender == sender && $0.group == group && !(keepsStored && $0.isStored)
        } dropping: {
            $0.account == sender
        }
    }

    /// Takes back everything of a group, and all positions, for a client that may not see it any more.
    mutating func takeBack(group: UniqueID) {
        rewrite {
            $0.group == group
        } dropping: { _ in
            true
        }
    }

    /// Takes all positions back.
    mutating func takeBackPositions() {
        rewrite { _ in
            false
        } dropping: { _ in
            true
        }
    }

    /// Takes everything back.
    mutating func removeAll() { self = Outbox() }

    private mutating func rewrite(
        _ isForbidden: (Frame) -> Bool,
        dropping isDropped: (Position) -> Bool
    ) {
        guard !isEmpty else { return }
        let old = self
        self = Outbox()
        for item in old.items[old.first...] {
            switch item {
            case .frame(let frame): if !isForbidden(frame) { add(frame) }
            case .run(let run): add(run.filter { !isDropped($0) })
            }
        }
        add(old.tail.filter { !isDropped($0) })
    }

    private mutating func add(_ positions: [Position]) {
        for position in positions { add(position) }
    }
}

/// Makes `positions` frames, and remembers the last ones: clients of one convoy get the same.
struct PositionComposer {
    private struct Made {
        let serials: [UInt64]
        let frame: Outbox.Ready
    }

    /// How many frames are remembered.
    private static let memory = 8

    private var made: [Made] = []
    private var turn = 0
    /// Frames that were made.
    private(set) var madeCount = 0

    /// The frame of these positions, the newest of each sender.
    mutating func frame(of positions: [Position]) -> Outbox.Ready {
        for index in made.indices.reversed() where Self.isEqual(made[index].serials, positions) {
            return made[index].frame
        }
        let newest = Self.newest(positions)
        let frame = Outbox.Ready(
            bytes: ServerFrame.positions(newest.lazy.map { $0.row }),
            positions: newest.count
        )
        madeCount += 1
        let new = Made(serials: positions.map(\.serial), frame: frame)
        if made.count < Self.memory {
            made.append(new)
        } else {
            made[turn] = new
            turn = (turn + 1) % Self.memory
        }
        return frame
    }

    /// Forgets what was made, at the end of a turn.
    mutating func forget() {
        made.removeAll(keepingCapacity: true)
        turn = 0
    }

    /// The newest position of each sender, in the order in which these came.
    static func newest(_ positions: [Position]) -> [Position] {
        guard positions.count > 1 else { return positions }
        var seen: Set<UniqueID> = []
        let newest = positions.reversed().filter { seen.insert($0.account).inserted }
        return newest.reversed()
    }

    private static func isEqual(_ serials: [UInt64], _ positions: [Position]) -> Bool {
        guard serials.count == positions.count else { return false }
        for index in serials.indices where serials[index] != positions[index].serial {
            return false
        }
        return true
    }
}
