internal import Bus
internal import Messages
internal import Transit
internal import Web

/// A service that stores something about accounts and tells it for `GET /api/me/export`.
struct ExportSource: Sendable {
    /// How long a service may take for a page.
    private static let timeout = Duration.seconds(3)

    /// The member of the export that holds it.
    let name: String
    /// Everything that it stores about an account, a JSON value in UTF-8; nil when it cannot be had.
    let read: @Sendable (UniqueID) async -> [UInt8]?

    /// Every service that tells.
    static func all(_ bus: Bus) -> [ExportSource] { [groups(bus)] }

    private static func groups(_ bus: Bus) -> ExportSource {
        groups { request in
            guard let instance = bus.instances(of: ServiceNames.groups).randomElement(),
                let bytes = try? await bus.request(
                    request.encoded(),
                    to: instance,
                    timeout: timeout,
                    trace: request.trace
                )
            else { return nil }
            return (try? GroupsReply(decoding: bytes))?.body
        }
    }

    /// Friends, groups, fixes, places and events, a page at a time, each asked of any groups process.
    static func groups(
        _ ask: @escaping @Sendable (GroupsRequest) async -> GroupsReply.Body?
    ) -> ExportSource {
        ExportSource(name: "groups") { account in
            var json: [UInt8] = []
            var after: String?
            repeat {
                let request = GroupsRequest(body: .exportAccount(accountID: account, after: after))
                guard !Task.isCancelled, case .exported(let page) = await ask(request) else {
                    return nil
                }
                json += page.json
                after = page.next
            } while after != nil
            return json
        }
    }
}

extension HTTPError {
    /// 429 for one who asks for everything again and again.
    static func tooManyExports(_ seconds: Int) -> HTTPError {
        HTTPError(
            status: 429,
            code: "rate.exports",
            message: "too many exports, try again later",
            retryAfter: seconds
        )
    }

    /// 503 for an export that would not be whole.
    static let exportIncomplete = HTTPError(
        status: 503,
        code: "export.unavailable",
        message: "not everything that is stored about you can be read now, try again",
        retryAfter: 2
    )
}
