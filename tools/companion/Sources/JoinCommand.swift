internal import CompanionKit

extension Member {
    /// `companion join`: makes the group or enters it, then befriends, invites and switches.
    func join() async throws {
        for friend in options.friends {
            let areFriends = try await api.befriend(friend)
            say(areFriends ? "\(friend) is your friend" : "asked \(friend) for friendship")
        }
        let group = try await entered()
        say("in \(group.kind.rawValue) \(group.name) \(group.id)")
        for friend in options.invited {
            let status = try await api.invite(friend, to: group.id)
            say("\(friend) is \(status.name)")
        }
        if let sharing = options.sharing {
            guard group.kind == .circle else {
                throw ToolError("in a convoy to be connected is to share; there is no switch")
            }
            try await api.setSharing(sharing, in: group.id)
            say(sharing ? "sharing is on" : "sharing is off, your last position is deleted")
        }
    }

    private func entered() async throws -> CompanionGroup {
        guard let known = try await knownGroup() else {
            guard GroupID(options.group) == nil else {
                throw ToolError("you are in no \(options.kind.rawValue) with this id")
            }
            return try await api.createGroup(options.kind, name: options.group)
        }
        if known.status == .invited { _ = try await api.respond(to: known.id, accepting: true) }
        return known
    }
}
