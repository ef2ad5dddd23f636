import Transit

@testable import Messages

extension RandomValues {
    /// One message of each kind that groups and relays say to each other.
    mutating func groupMessages() -> [any WireMessage] {
        [
            groupsRequest(), groupsReply(), relayRequest(),
            RelayReply(requestID: id(), trace: trace(), body: bool() ? .takenAway : .refused),
            GroupChange(trace: trace(), groupID: id(), version: next(), isGone: bool()),
            liveFix(), placeEvent(),
        ]
    }

    private mutating func fix() -> MemberFix {
        MemberFix(
            latitude: number(),
            longitude: number(),
            accuracyMeters: maybe { $0.number() },
            timestampMilliseconds: time(),
            receivedAtMilliseconds: time()
        )
    }

    private mutating func groupsRequest() -> GroupsRequest {
        let body: GroupsRequest.Body
        switch next() % 5 {
        case 0: body = .membership(accountID: id(), groupID: id())
        case 1: body = .views(groupIDs: list { $0.id() }, accountIDs: list { $0.id() })
        case 2: body = .sweep(accountIDs: list { $0.id() })
        case 3: body = .storeFixes(list { AccountFix(accountID: $0.id(), fix: $0.fix()) })
        default: body = .exportAccount(accountID: id())
        }
        return GroupsRequest(requestID: id(), trace: trace(), body: body)
    }

    private mutating func groupsReply() -> GroupsReply {
        let body: GroupsReply.Body
        switch next() % 6 {
        case 0:
            body = .membership(
                MembershipReply(isMember: bool(), version: next(), allowsVotes: bool())
            )
        case 1: body = .views(list { $0.view() })
        case 2: body = .versions(list { GroupVersion(groupID: $0.id(), version: $0.next()) })
        case 3: body = .stored
        case 4: body = .exported(list { UInt8(truncatingIfNeeded: $0.next()) })
        default:
            body = .refused(GroupsReply.Refusal.allCases.randomElement(using: &self) ?? .failed)
        }
        return GroupsReply(requestID: id(), trace: trace(), body: body)
    }

    private mutating func view() -> GroupView {
        GroupView(
            groupID: id(),
            version: next(),
            allowsVotes: bool(),
            sharesWhileConnected: bool(),
            members: list {
                GroupView.Member(
                    accountID: $0.id(),
                    isSharing: $0.bool(),
                    lastFix: $0.maybe { $0.fix() }
                )
            }
        )
    }

    private mutating func relayRequest() -> RelayRequest {
        let withdrawals = list {
            Withdrawal(
                groupID: $0.id(),
                accountID: $0.id(),
                version: $0.next(),
                reason: Withdrawal.Reason.allCases.randomElement(using: &$0) ?? .left
            )
        }
        return RelayRequest(requestID: id(), trace: trace(), body: .takeAway(withdrawals))
    }

    private mutating func liveFix() -> LiveFix {
        LiveFix(
            trace: trace(),
            accountID: id(),
            fix: fix(),
            ttlSeconds: count(),
            targets: list {
                LiveFix.Target(
                    groupID: $0.id(),
                    version: $0.next(),
                    sharesWhileConnected: $0.bool()
                )
            }
        )
    }

    private mutating func placeEvent() -> PlaceEventNotice {
        PlaceEventNotice(
            trace: trace(),
            groupID: id(),
            accountID: id(),
            placeID: id(),
            placeName: text(),
            kind: text(),
            timestampMilliseconds: time(),
            sequence: next()
        )
    }
}
