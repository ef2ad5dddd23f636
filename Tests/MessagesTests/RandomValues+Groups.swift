import Transit

@testable import Messages

extension RandomValues {
    /// One message of each kind that groups and relays say to each other.
    mutating func groupMessages() -> [any WireMessage] {
        [
            groupsRequest(), groupsReply(), relayRequest(),
            relayReply(),
            GroupChange(trace: trace(), groupID: id(), version: next(), isGone: bool()),
            liveFix(), placeEvent(), presence(), news(),
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
        switch next() % 4 {
        case 0: body = .membership(accountID: id(), groupID: id())
        case 1: body = .views(groupIDs: list { $0.id() }, accountIDs: list { $0.id() })
        case 2: body = .sweep(accountIDs: list { $0.id() })
        default: body = .storeFixes(list { AccountFix(accountID: $0.id(), fix: $0.fix()) })
        }
        return GroupsRequest(requestID: id(), trace: trace(), body: body)
    }

    private mutating func groupsReply() -> GroupsReply {
        let body: GroupsReply.Body
        switch next() % 5 {
        case 0:
            body = .membership(
                MembershipReply(isMember: bool(), version: next(), allowsVotes: bool())
            )
        case 1: body = .views(list { $0.view() })
        case 2: body = .versions(list { GroupVersion(groupID: $0.id(), version: $0.next()) })
        case 3: body = .stored
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
                    sharingSinceMilliseconds: $0.maybe { $0.time() },
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
        let body: RelayRequest.Body =
            switch next() % 3 {
            case 0: .takeAway(withdrawals)
            case 1: .departed(list { $0.departure() })
            default: .checkSessions
            }
        return RelayRequest(requestID: id(), trace: trace(), body: body)
    }

    private mutating func relayReply() -> RelayReply {
        let bodies: [RelayReply.Body] = [
            .takenAway, .sessionsChecked, .departuresTaken, .refused,
        ]
        return RelayReply(
            requestID: id(),
            trace: trace(),
            body: bodies.randomElement(using: &self) ?? .refused
        )
    }

    private mutating func presence() -> RelayPresence {
        let saysSessions = bool()
        return RelayPresence(
            trace: trace(),
            entries: list {
                RelayPresence.Entry(
                    accountID: $0.id(),
                    claim: $0.next(),
                    session: saysSessions ? $0.sessionMark() : nil
                )
            }
        )
    }

    private mutating func sessionMark() -> SessionMark {
        SessionMark(
            tokenDigest: bool() ? id() : nil,
            issuedAt: bool() ? Int64(count()) : nil
        )
    }

    private mutating func news() -> RelayNews {
        let body: RelayNews.Body
        switch next() % 3 {
        case 0: body = .fix(relayedFix())
        case 1:
            let candidates = list { values in
                RelayedVote.Candidate(
                    latitude: values.number(),
                    longitude: values.number(),
                    distanceMeters: values.maybe { $0.number() },
                    durationSeconds: values.maybe { $0.number() },
                    name: values.maybe { $0.text() }
                )
            }
            body = .vote(
                RelayedVote(
                    accountID: id(),
                    groupID: id(),
                    version: next(),
                    claim: next(),
                    ballot: candidates.isEmpty ? .vote(count()) : .offer(candidates)
                )
            )
        default:
            body = .departure(departure())
        }
        return RelayNews(trace: trace(), body: body)
    }

    private mutating func departure() -> RelayedDeparture {
        RelayedDeparture(
            accountID: id(),
            claim: next(),
            groupIDs: list { $0.id() },
            unjoinedGroupIDs: list { $0.id() },
            hasSessionEnded: bool()
        )
    }

    private mutating func relayedFix() -> RelayedFix {
        RelayedFix(
            accountID: id(),
            latitude: number(),
            longitude: number(),
            headingDegrees: maybe { $0.number() },
            speedKilometersPerHour: maybe { $0.number() },
            timestampMilliseconds: time(),
            receivedAtMilliseconds: time(),
            ttlSeconds: count(),
            claim: next(),
            isKnown: bool(),
            groups: list { GroupVersion(groupID: $0.id(), version: $0.next()) }
        )
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
            },
            session: bool() ? sessionMark() : nil
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
