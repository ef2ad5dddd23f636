internal import Messages
internal import Telemetry
internal import Web

/// Carrying out what the core wants done outside.
extension RelayLoop {
    func carryOut(_ effect: RelayCore.Effect) {
        let (outside, mailbox) = (outside, mailbox)
        switch effect {
        case .drawClaims(let count):
            Task { mailbox.post(.claims(await outside.drawClaims(count))) }
        case .ask(let id, let account, let group):
            Task {
                let reply = await outside.ask(.membership(accountID: account, groupID: group))
                if case .membership(let membership) = reply {
                    mailbox.post(.membership(id, membership))
                } else {
                    mailbox.post(.membership(id, nil))
                }
            }
        case .fetch(let groups, let accounts):
            Task {
                let reply = await outside.ask(.views(groupIDs: groups, accountIDs: accounts))
                if case .views(let views) = reply {
                    mailbox.post(.views(views))
                } else {
                    mailbox.post(.views(nil))
                }
            }
        case .sweep(let accounts):
            Task {
                let reply = await outside.ask(.sweep(accountIDs: accounts))
                if case .versions(let versions) = reply {
                    mailbox.post(.versions(versions))
                } else {
                    mailbox.post(.versions(nil))
                }
            }
        case .store(let fixes):
            Task {
                let reply = await outside.ask(.storeFixes(fixes))
                mailbox.post(.stored(reply == .stored))
            }
        case .publish(let part):
            let presence = RelayPresence(entries: core.presence(part: part))
            outside.publish(part, presence.encoded(), presence.trace)
        case .tell(let relay, let news): outside.tell(relay, news.encoded(), news.trace)
        case .tellEnds(let round, let departures):
            let relays = outside.livingRelays()
            guard !relays.isEmpty else {
                done += core.ends.end(round, isTaken: true)
                return
            }
            Task {
                let isTaken = await outside.tellEnds(relays, departures)
                mailbox.post(.endsTold(round, isTaken: isTaken))
            }
        case .look(let standstill):
            Task {
                let isDone = await outside.look()
                // A database that is away is not asked in a tight circle.
                if !isDone { try? await Task.sleep(for: .milliseconds(250)) }
                mailbox.post(.looked(isDone, after: standstill))
            }
        case .resume(let session):
            if let connection = connections[session.number], connection.session === session {
                resume(connection)
            }
        case .close(let session, let reason):
            if let connection = connections[session.number], connection.session === session {
                beginClose(connection, WebSocketFrame.close(code: reason.code, reason: reason.text))
            }
        }
    }
}
