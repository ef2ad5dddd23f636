/// Friends, and who can see the caller.
extension CompanionAPI {
    private struct Username: Encodable { var username: String }
    private struct Accept: Encodable { var accept: Bool }
    private struct Friends: Decodable { var riders: [Friend] }
    private struct Status: Decodable { var status: String }
    private struct Audience: Decodable { var audience: [AudienceEntry] }

    /// Friends and open requests.
    ///
    /// - Throws: ``CompanionError``.
    public func friends() async throws -> [Friend] {
        let answer: Friends = try await get("/api/friends")
        return answer.riders
    }

    /// Asks someone for their friendship; accepts when they asked first.
    ///
    /// - Parameter username: Their handle, in any case.
    /// - Returns: Whether they are friends now.
    /// - Throws: ``CompanionError``, with the code `user.not_found_by_username` for an unknown
    ///   handle.
    public func befriend(_ username: String) async throws -> Bool {
        let answer: Status = try await send(
            "POST",
            "/api/friends/requests",
            Username(username: username)
        )
        return answer.status == "accepted"
    }

    /// Answers a request for friendship.
    ///
    /// - Parameters:
    ///   - account: Who asked.
    ///   - accepting: Whether to become friends.
    /// - Throws: ``CompanionError``.
    public func respond(toFriend account: AccountID, accepting: Bool) async throws {
        try await post("/api/friends/requests/\(account)/respond", Accept(accept: accepting))
    }

    /// Ends a friendship, and with it every group that the two share.
    ///
    /// - Throws: ``CompanionError``.
    public func unfriend(_ account: AccountID) async throws {
        try await delete("/api/friends/\(account)")
    }

    /// Who can see the caller now, and through which group.
    ///
    /// - Throws: ``CompanionError``.
    public func audience() async throws -> [AudienceEntry] {
        let answer: Audience = try await get("/api/me/audience")
        return answer.audience
    }
}
