internal import Bus
internal import Messages
internal import Transit
internal import Web

/// A service that stores something about accounts and tells it for `GET /api/me/export`.
struct ExportSource: Sendable {
    /// How long a service may take.
    private static let timeout = Duration.seconds(3)

    /// The member of the export that holds it.
    let name: String
    /// Everything that it stores about an account, a JSON value in UTF-8; nil when it cannot be had.
    let read: @Sendable (UniqueID) async -> [UInt8]?

    /// Every service that tells.
    static func all(_ bus: Bus) -> [ExportSource] { [groups(bus)] }

    /// Friends, groups, fixes, places and events, asked of any groups process.
    private static func groups(_ bus: Bus) -> ExportSource {
        ExportSource(name: "groups") { account in
            let request = GroupsRequest(body: .exportAccount(accountID: account))
            guard let instance = bus.instances(of: ServiceNames.groups).randomElement(),
                let bytes = try? await bus.request(
                    request.encoded(),
                    to: instance,
                    timeout: timeout,
                    trace: request.trace
                ),
                case .exported(let json) = (try? GroupsReply(decoding: bytes))?.body
            else { return nil }
            return json
        }
    }
}

extension HTTPError {
    /// 503 for an export that would not be whole.
    static let exportIncomplete = HTTPError(
        status: 503,
        code: "export.unavailable",
        message: "not everything that is stored about you can be read now, try again",
        retryAfter: 2
    )
}
