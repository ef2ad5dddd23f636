internal import CompanionKit
internal import FoundationEssentials

/// A person at the command line: signed in, with the kit's parts around them.
struct Member: Sendable {
    let options: CompanionOptions
    let session: AccountSession
    let api: CompanionAPI
    let relay: ConvoyRelay
    let store: any CompanionStore
    let account: SignedInAccount
    let clock: any CompanionClock
    let say: @Sendable (String) -> Void

    /// Signs in, or takes up a stored session.
    ///
    /// - Throws: ``ToolError`` or `CompanionError` when nobody is signed in.
    init(_ options: CompanionOptions, _ surroundings: CompanionProgram.Surroundings) async throws {
        guard let serverURL = URL(string: options.url) else {
            throw ToolError("\(options.url) is no URL")
        }
        self.options = options
        clock = surroundings.clock
        say = surroundings.say
        store = try Self.store(options.data)
        session = AccountSession(
            transport: surroundings.transport,
            store: store,
            clock: surroundings.clock
        )
        account = try await Self.account(
            options,
            session,
            serverURL,
            password: surroundings.password
        )
        api = CompanionAPI(
            transport: surroundings.transport,
            session: session,
            clock: surroundings.clock
        )
        relay = ConvoyRelay(
            socket: surroundings.socket(serverURL),
            session: session,
            clock: surroundings.clock
        )
    }

    private static func store(_ folder: String) throws -> any CompanionStore {
        guard !folder.isEmpty else { return InMemoryCompanionStore() }
        // A folder below the person's, since its access is narrowed.
        return try FileCompanionStore(
            folder: URL(filePath: folder, directoryHint: .isDirectory).appending(path: "companion")
        )
    }

    private static func account(
        _ options: CompanionOptions,
        _ session: AccountSession,
        _ serverURL: URL,
        password: String?
    ) async throws -> SignedInAccount {
        guard !options.handle.isEmpty else {
            guard let account = await session.state().account, account.serverURL == serverURL else {
                throw ToolError("no session for this server is stored; sign in with -handle")
            }
            return account
        }
        let password = try options.passwordFile.isEmpty ? password : read(options.passwordFile)
        guard let password, !password.isEmpty else {
            throw ToolError("no password: set COMPANION_PASSWORD or name a -password-file")
        }
        return options.signsUp
            ? try await session.signUp(options.handle, password: password, serverURL: serverURL)
            : try await session.signIn(options.handle, password: password, serverURL: serverURL)
    }

    private static func read(_ path: String) throws -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ToolError("\(path) cannot be read")
        }
        let text = String(decoding: data, as: UTF8.self)
        return String(text.prefix { !$0.isNewline })
    }

    // MARK: - Groups

    /// The named group among the person's; nil when there is none.
    func knownGroup() async throws -> CompanionGroup? {
        let groups = try await api.groups(options.kind)
        let id = GroupID(options.group)
        return groups.first { $0.id == id } ?? groups.first { $0.name == options.group }
    }

    /// The named group, of which the person must be a member.
    func group() async throws -> CompanionGroup {
        guard let group = try await knownGroup(), group.status == .accepted else {
            throw ToolError(
                "you are in no \(options.kind.rawValue) \(options.group); join it first"
            )
        }
        return group
    }

    /// Follows a group on the relay.
    func follow(_ group: CompanionGroup) async {
        switch group.kind {
        case .convoy: await relay.setConvoy(LiveGroup(group))
        case .circle: await relay.setNotifyingCircles([LiveGroup(group)])
        }
    }

    // MARK: - Time

    /// Runs work until it is done or its time is up.
    ///
    /// - Parameters:
    ///   - duration: The time; nil goes on until a signal.
    ///   - work: What to do; it is cancelled at the end.
    /// - Returns: What `work` returned, nil when the time was up first.
    /// - Throws: What `work` throws, `CancellationError`.
    func within<Value: Sendable>(
        _ duration: Duration?,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            if let duration {
                group.addTask {
                    try await clock.sleep(for: duration)
                    return nil
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Keeps the relay connected while work is done.
    func connected<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let running = Task { try await relay.run() }
        defer { running.cancel() }
        return try await work()
    }
}
