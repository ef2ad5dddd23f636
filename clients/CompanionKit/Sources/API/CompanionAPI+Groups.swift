/// Groups of both kinds: the kind is an argument, the calls are the same (seed section 5).
extension CompanionAPI {
    private struct Name: Encodable { var name: String }
    private struct Username: Encodable { var username: String }
    private struct Accept: Encodable { var accept: Bool }
    private struct Sharing: Codable { var sharing: Bool }
    private struct Status: Decodable { var status: MembershipStatus }

    /// Makes a group of which the caller is owner and one member.
    ///
    /// In a circle the caller does not share until ``setSharing(_:in:)``.
    ///
    /// - Parameters:
    ///   - kind: What it is for.
    ///   - name: 1 to 40 characters.
    /// - Returns: The group.
    /// - Throws: ``CompanionError``.
    public func createGroup(_ kind: GroupKind, name: String) async throws -> CompanionGroup {
        try await send("POST", "/api/\(kind.collection)", Name(name: name))
    }

    /// The groups of a kind in which the caller is, or to which they are invited; newest first.
    ///
    /// - Throws: ``CompanionError``.
    public func groups(_ kind: GroupKind) async throws -> [CompanionGroup] {
        try await get("/api/\(kind.collection)")
    }

    /// Invites a friend.
    ///
    /// - Parameters:
    ///   - username: The friend's handle, in any case.
    ///   - group: A group in which the caller is.
    /// - Returns: How the friend stands to the group now.
    /// - Throws: ``CompanionError``, with the code `group.invitee_not_a_friend` for a stranger.
    public func invite(_ username: String, to group: GroupID) async throws -> MembershipStatus {
        let answer: Status = try await send(
            "POST",
            "/api/groups/\(group)/invitations",
            Username(username: username)
        )
        return answer.status
    }

    /// Answers an invitation.
    ///
    /// - Parameters:
    ///   - group: The group that invites.
    ///   - accepting: Whether to join.
    /// - Returns: ``MembershipStatus/accepted`` or ``MembershipStatus/declined``.
    /// - Throws: ``CompanionError``.
    public func respond(to group: GroupID, accepting: Bool) async throws -> MembershipStatus {
        let answer: Status = try await send(
            "POST",
            "/api/groups/\(group)/invitations/respond",
            Accept(accept: accepting)
        )
        return answer.status
    }

    /// Leaves a group, or withdraws from an invitation: position and places in it are deleted.
    ///
    /// - Throws: ``CompanionError``.
    public func leave(_ group: GroupID) async throws {
        try await delete("/api/groups/\(group)/membership")
    }

    /// Switches the caller's sharing in a circle; off deletes the stored position at once.
    ///
    /// - Parameters:
    ///   - sharing: Whether the others may see the caller.
    ///   - circle: A circle in which the caller is.
    /// - Returns: What holds now.
    /// - Throws: ``CompanionError``, 404 for a convoy.
    @discardableResult
    public func setSharing(_ sharing: Bool, in circle: GroupID) async throws -> Bool {
        let answer: Sharing = try await send(
            "PUT",
            "/api/circles/\(circle)/sharing",
            Sharing(sharing: sharing)
        )
        return answer.sharing
    }
}
