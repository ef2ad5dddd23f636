/// Who is friends with whom and who is in which group, as simply as it can be said.
///
/// People are numbers. Each deed says what its call is to answer.
struct SocialModel {
    struct Member: Equatable {
        var isAccepted: Bool
        var isSharing: Bool
        var hasFix = false
        var inviter: Int?
        /// By when the row came, then by when it was accepted.
        var turn: Int
    }

    struct Group {
        let isCircle: Bool
        var owner: Int?
        var members: [Int: Member]
        var isGone = false

        var accepted: [Int] { members.filter(\.value.isAccepted).map(\.key) }
    }

    enum Deed: CustomStringConvertible {
        case ask(Int, Int)
        case answer(Int, Int, Bool)
        case unfriend(Int, Int)
        case create(Int, circle: Bool)
        case invite(Int, Int, Int)
        case respond(Int, Int, Bool)
        case leave(Int, Int)
        case share(Int, Int, Bool)
        case fix(Int)
        case fixIn(Int, Int)
        case erase(Int)

        var description: String {
            switch self {
            case .ask(let one, let other): "\(one) asks \(other)"
            case .answer(let one, let other, let yes): "\(one) answers \(other) \(yes)"
            case .unfriend(let one, let other): "\(one) unfriends \(other)"
            case .create(let one, let circle): "\(one) makes a \(circle ? "circle" : "convoy")"
            case .invite(let one, let other, let group): "\(one) invites \(other) to \(group)"
            case .respond(let one, let group, let yes): "\(one) responds \(yes) in \(group)"
            case .leave(let one, let group): "\(one) leaves \(group)"
            case .share(let one, let group, let on): "\(one) shares \(on) in \(group)"
            case .fix(let one): "\(one) is somewhere"
            case .fixIn(let one, let group): "\(one) is somewhere in \(group)"
            case .erase(let one): "\(one) is erased"
            }
        }
    }

    private(set) var groups: [Group] = []
    private var friends: Set<Set<Int>> = []
    private var requests: [Set<Int>: Int] = [:]
    private var turn = 0

    /// Does it, and says the status that the call is to have.
    mutating func apply(_ deed: Deed) -> Int {
        turn += 1
        switch deed {
        case .ask(let one, let other): return ask(one, other)
        case .answer(let one, let other, let yes): return answer(one, other, yes)
        case .unfriend(let one, let other): return unfriend(one, other)
        case .create(let one, let circle):
            let founder = Member(isAccepted: true, isSharing: !circle, inviter: nil, turn: turn)
            groups.append(Group(isCircle: circle, owner: one, members: [one: founder]))
            return 201
        case .invite(let one, let other, let group): return invite(one, other, group)
        case .respond(let one, let group, let yes): return respond(one, group, yes)
        case .leave(let one, let group):
            guard groups[group].members[one] != nil else { return 404 }
            remove(one, from: group)
            return 204
        case .share(let one, let group, let on):
            guard groups[group].isCircle, isMember(one, group) else { return 404 }
            groups[group].members[one]?.isSharing = on
            if !on { groups[group].members[one]?.hasFix = false }
            return 200
        case .fix(let one):
            for group in groups.indices { place(one, group) }
            return 204
        case .fixIn(let one, let group):
            guard groups[group].isCircle, isMember(one, group) else { return 404 }
            place(one, group)
            return 204
        case .erase(let one):
            erase(one)
            return 200
        }
    }

    /// What a person sees of another: `friend`, `incoming`, `outgoing` or nothing.
    func relation(_ one: Int, to other: Int) -> String? {
        if friends.contains([one, other]) { return "friend" }
        return requests[[one, other]].map { $0 == one ? "outgoing" : "incoming" }
    }

    /// Whose fixes a person sees in a circle; nil where the circle may not be seen.
    func visible(to one: Int, in group: Int) -> Set<Int>? {
        guard groups[group].isCircle, isMember(one, group) else { return nil }
        return Set(
            groups[group].members.filter {
                $0.value.isAccepted && $0.value.isSharing && $0.value.hasFix
            }
            .map(\.key)
        )
    }

    // MARK: - Friends

    private mutating func ask(_ one: Int, _ other: Int) -> Int {
        guard one != other else { return 422 }
        if !friends.contains([one, other]) {
            if requests[[one, other]] == other {
                requests[[one, other]] = nil
                friends.insert([one, other])
            } else {
                requests[[one, other]] = one
            }
        }
        return 200
    }

    private mutating func answer(_ one: Int, _ other: Int, _ yes: Bool) -> Int {
        guard one != other, let asker = requests[[one, other]], asker == other else { return 422 }
        requests[[one, other]] = nil
        if yes { friends.insert([one, other]) }
        return 200
    }

    private mutating func unfriend(_ one: Int, _ other: Int) -> Int {
        requests[[one, other]] = nil
        guard friends.remove([one, other]) != nil else { return 204 }
        for group in groups.indices {
            for (person, member) in groups[group].members
            where [one, other].contains(person) && !member.isAccepted
                && [one, other].contains(member.inviter)
            {
                groups[group].members[person] = nil
            }
            guard isMember(one, group), isMember(other, group) else { continue }
            remove(groups[group].owner == one ? other : one, from: group)
        }
        return 204
    }

    // MARK: - Groups

    private func isMember(_ one: Int, _ group: Int) -> Bool {
        groups[group].members[one]?.isAccepted ?? false
    }

    private mutating func invite(_ one: Int, _ other: Int, _ group: Int) -> Int {
        guard isMember(one, group) else { return 404 }
        guard one != other, friends.contains([one, other]) else { return 422 }
        if groups[group].members[other] != nil { return 200 }
        groups[group].members[other] = Member(
            isAccepted: false,
            isSharing: false,
            inviter: one,
            turn: turn
        )
        return 200
    }

    private mutating func respond(_ one: Int, _ group: Int, _ yes: Bool) -> Int {
        guard let member = groups[group].members[one] else { return 404 }
        guard !member.isAccepted, let inviter = member.inviter else { return 422 }
        guard yes else {
            groups[group].members[one] = nil
            return 200
        }
        guard friends.contains([one, inviter]) else { return 422 }
        groups[group].members[one] = Member(
            isAccepted: true,
            isSharing: !groups[group].isCircle,
            inviter: nil,
            turn: turn
        )
        if groups[group].owner == nil { groups[group].owner = one }
        return 200
    }

    private mutating func remove(_ one: Int, from group: Int) {
        let wasAccepted = isMember(one, group)
        groups[group].members[one] = nil
        guard wasAccepted else { return }
        let heir = groups[group].members.filter(\.value.isAccepted)
            .min { $0.value.turn < $1.value.turn }?.key
        if groups[group].owner == one { groups[group].owner = heir }
        guard heir == nil, !groups[group].isCircle else { return }
        groups[group].members = [:]
        groups[group].isGone = true
    }

    private mutating func place(_ one: Int, _ group: Int) {
        guard groups[group].isCircle, isMember(one, group),
            groups[group].members[one]?.isSharing ?? false
        else { return }
        groups[group].members[one]?.hasFix = true
    }

    private mutating func erase(_ one: Int) {
        friends = friends.filter { !$0.contains(one) }
        requests = requests.filter { !$0.key.contains(one) }
        for group in groups.indices {
            groups[group].members = groups[group].members.filter { $0.value.inviter != one }
            remove(one, from: group)
        }
    }
}
