public import Database
public import Messages
internal import Synchronization
public import Telemetry
internal import Transit
internal import Web

/// What a process knows of `auth.revocations`: the check behind its tokens.
///
/// It looks at the rows each second and hears them from auth's topic in between. When the last look
/// is too old nobody can say whether a token of staff or a member still counts, so the answer is
/// "unknown" (503). Riders go on with what is known: what they could do is written in the same
/// database, and a revoked one stays refused.
public final class RevocationView: Sendable {
    /// How often the rows are looked at.
    public static let lookPeriod = Duration.seconds(1)
    /// Age of the last look beyond which staff and members are refused (architecture, section 8).
    public static let maximumAge = Duration.seconds(30)

    /// Hears what a look found that nobody had said before; the number is the look's cursor.
    public typealias News = @Sendable (_ entries: [Revocations.Entry], _ cursor: UInt64) -> Void

    private struct State {
        var cursor = RevocationReader.start
        /// Monotonic nanoseconds at the start of the newest look that succeeded; nil before the first.
        var lookedAt: UInt64?
        var turn = 0
        var news: News?
        var lastFault: String?
    }

    private let database: Database
    private let clock: ApplicationClock
    private let uptime: @Sendable () -> UInt64
    private let logger: Logger
    private let table = RevocationTable()
    private let state = Mutex(State())
    private let failures: Counter
    private let unreadable: Counter

    /// Makes a view that knows nothing yet.
    ///
    /// - Parameters:
    ///   - database: A pool whose role may read `auth.revocations`.
    ///   - clock: The application clock.
    ///   - logger: Hears when looks begin to fail and when they succeed again.
    ///   - metrics: Shows how many revocations are known and how old the last look is.
    ///   - uptime: Monotonic nanoseconds; replaced in tests.
    public init(
        database: Database,
        clock: ApplicationClock,
        logger: Logger = .silent,
        metrics: Metrics = Metrics(),
        uptime: @escaping @Sendable () -> UInt64 = { Timestamps.monotonicNanoseconds() }
    ) {
        self.database = database
        self.clock = clock
        self.uptime = uptime
        self.logger = logger
        failures = metrics.counter(
            "revocation_looks_failed_total",
            help: "Looks at the revocations that failed."
        )
        unreadable = metrics.counter(
            "revocations_unreadable_total",
            help: "Revocations, in rows or on the bus, that were not understood."
        )
        metrics.gauge("revocations_known_items", help: "Revocations held in memory.") {
            [weak self] in Double(self?.table.count ?? 0)
        }
        metrics.gauge("revocations_age_seconds", help: "Age of the last look; -1 before it.") {
            [weak self] in self?.ageSeconds ?? -1
        }
    }

    // MARK: - Asking

    /// Whether a verified token still counts; takes a microsecond and never waits.
    public func status(of claims: TokenClaims) -> RevocationStatus {
        status(of: RevocationQuestion(claims))
    }

    /// Whether a verified token still counts, for who asks again and again.
    public func status(of question: RevocationQuestion) -> RevocationStatus {
        guard let lookedAt = state.withLock({ $0.lookedAt }) else { return .unknown }
        if let token = question.token, table.revocation(of: token) != nil { return .revoked }
        if let revokedAt = table.revocation(of: question.subject),
            question.issuedAt.map({ $0 <= revokedAt }) ?? true
        {
            return .revoked
        }
        return question.isOfRider || !isTooOld(lookedAt) ? .valid : .unknown
    }

    /// ``status(of:)`` as ``TokenVerifier`` takes it.
    public var check: RevocationCheck { { [self] claims in status(of: claims) } }

    /// Ready from the first look on, as long as looks succeed.
    public var readiness: Readiness {
        guard let lookedAt = state.withLock({ $0.lookedAt }) else {
            return .notReady("revocations: not read yet")
        }
        return isTooOld(lookedAt) ? .notReady("revocations: the last look is too old") : .ready
    }

    // MARK: - Learning

    /// Sets who hears of revocations that a look found; auth publishes them on the bus.
    public func onNews(_ news: @escaping News) { state.withLock { $0.news = news } }

    /// Looks at the rows now; what was committed before the call is known when it returns.
    ///
    /// - Returns: Whether the look succeeded; a failure is counted, and the next look makes up for it.
    @discardableResult
    public func look() async -> Bool {
        let start = uptime()
        let now = clock.now()
        let cursor = state.withLock { $0.cursor }
        do throws(DatabaseError) {
            let page = try await database.withConnection { connection throws(DatabaseError) in
                try RevocationReader.read(from: cursor, at: now, on: connection)
            }
            succeed(page, after: cursor, start: start, now: now)
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// Hears revocations that auth published; what does not decode is counted and left to the looks.
    public func hear(_ message: [UInt8]) {
        guard let revocations = try? Revocations(decoding: message) else { return unreadable.add() }
        _ = learn(revocations.entries)
    }

    /// Looks each second until the task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            await look()
            try? await Task.sleep(for: Self.lookPeriod)
        }
    }

    // MARK: - Details

    private var ageSeconds: Double? {
        state.withLock { $0.lookedAt }.map { Double(uptime() - min(uptime(), $0)) / 1e9 }
    }

    private func isTooOld(_ lookedAt: UInt64) -> Bool {
        let now = uptime()
        return now > lookedAt && Duration.nanoseconds(now - lookedAt) > Self.maximumAge
    }

    private func learn(_ entries: [Revocations.Entry]) -> [Revocations.Entry] {
        entries.filter { entry in
            guard let key = RevocationKey(entry.target) else {
                unreadable.add()
                return false
            }
            return table.insert(key, revokedAt: entry.revokedAt, until: entry.expiresAt)
        }
    }

    /// Takes what a look found.
    ///
    /// The rows come first: nobody may rely on the look before they are in.
    private func succeed(
        _ page: RevocationReader.Page,
        after cursor: UInt64,
        start: UInt64,
        now: Int64
    ) {
        let new = learn(page.entries)
        let (news, turn, wasFailing) = state.withLock { state in
            // Two looks may overlap; each is right by itself, and the later cursor stands. Only a
            // database that was set back sets the cursor back.
            state.cursor = page.cursor < cursor ? page.cursor : max(state.cursor, page.cursor)
            state.lookedAt = max(state.lookedAt ?? start, start)
            state.turn = (state.turn + 1) % RevocationTable.partCount
            defer { state.lastFault = nil }
            return (state.news, state.turn, state.lastFault != nil)
        }
        if wasFailing { logger.info("revocations are read again") }
        table.sweep(part: turn, at: now)
        if !new.isEmpty { news?(new, page.cursor) }
    }

    private func fail(_ error: DatabaseError) {
        failures.add()
        let isNew = state.withLock { state in
            defer { state.lastFault = error.description }
            return state.lastFault != error.description
        }
        guard isNew else { return }
        logger.warning("revocations cannot be read", ["error": .text(error.description)])
    }
}

extension RevocationKey {
    /// The key of what an entry is about; nil for a subject that is not a digest.
    init?(_ target: Revocations.Entry.Target) {
        switch target {
        case .token(let id): self.init(token: id)
        case .subject(let digest): self.init(hexadecimal: digest)
        }
    }
}
