internal import Web

/// The refusals of the social API (spec, decisions 6, 19, 20, 24 and 26).
extension HTTPError {
    /// 404 for a group that the caller may not see, whatever the reason: always these bytes.
    static let groupNotFound = HTTPError(
        status: 404,
        code: "group.not_found",
        message: "group not found"
    )

    // MARK: - What a body says wrongly

    /// 400 for a member of the body that must be there.
    static func missing(_ name: String) -> HTTPError {
        .badRequest("field \"\(name)\" is required", code: "json.missing_field")
    }

    static let nameRequired = badRequest("a name is required", code: "group.name_required")
    static let nameTooLong = badRequest(
        "the name must be at most \(GroupName.maximumLength) characters",
        code: "group.name_too_long"
    )
    static let nameInvalid = badRequest(
        "the name has characters that are not seen",
        code: "group.name_invalid"
    )
    static let usernameInvalid = badRequest(
        "a username has 3 to 24 letters, digits, \"_\", \".\" or \"-\"",
        code: "user.username_invalid"
    )
    static let coordinatesOutOfRange = badRequest(
        "latitude and longitude must be valid coordinates",
        code: "location.coordinates_out_of_range"
    )
    static let placeIDRequired = badRequest(
        "a place id is required",
        code: "circle_place.place_id_required"
    )
    static let placeNameInvalid = badRequest(
        "the place's name has characters that are not seen",
        code: "circle_place.name_invalid"
    )
    static let radiusOutOfRange = badRequest(
        "the radius must be above 0 and at most \(Int(SharedPlace.maximumRadiusMeters)) metres",
        code: "circle_place.radius_out_of_range"
    )
    static let eventKindInvalid = badRequest(
        "the kind must be arrive or depart",
        code: "place_event.kind_invalid"
    )
    static let placeTooLarge = HTTPError(
        status: 413,
        code: "circle_place.payload_too_large",
        message: "the place must be at most \(SharedPlace.maximumPayloadBytes) bytes"
    )

    // MARK: - What the caller may not see

    static let userNotFound = HTTPError(
        status: 404,
        code: "user.not_found_by_username",
        message: "no rider has this username"
    )
    static let placeNotFound = HTTPError(
        status: 404,
        code: "place.not_found",
        message: "place not found"
    )

    // MARK: - What the state forbids

    private static func unprocessable(_ message: String, code: String) -> HTTPError {
        HTTPError(status: 422, code: code, message: message)
    }

    static let alreadyAMember = unprocessable("already a member", code: "group.already_a_member")
    static let inviteeNotAFriend = unprocessable(
        "only friends can be invited",
        code: "group.invitee_not_a_friend"
    )
    static let noPendingInvite = unprocessable(
        "no pending invitation",
        code: "group.no_pending_invite"
    )
    static func groupFull(_ kind: GroupKind, limit: Int) -> HTTPError {
        unprocessable(
            "the \(kind.name) is full (\(limit) members)",
            code: "group.\(kind.name)_full"
        )
    }
    static func tooManyGroups(of kind: GroupKind) -> HTTPError {
        unprocessable(
            "you are in \(kind.groupLimit) \(kind.collection) already, leave one first",
            code: "group.too_many_groups"
        )
    }
    /// One sentence whoever made them: an inviter learns nothing of the invitations of others.
    static let tooManyInvitations = unprocessable(
        "this person has to answer other invitations first",
        code: "group.too_many_invitations"
    )
    static let cannotFriendYourself = unprocessable(
        "you cannot befriend yourself",
        code: "friendship.cannot_friend_yourself"
    )
    static let tooManyFriendRequests = unprocessable(
        "too many of your requests are not answered yet",
        code: "friendship.too_many_requests"
    )
    static let noPendingRequest = unprocessable(
        "no pending request",
        code: "friendship.no_pending_request"
    )
    static let cannotAcceptOwnRequest = unprocessable(
        "you cannot accept your own request",
        code: "friendship.cannot_accept_own_request"
    )
    static let cannotDeclineOwnRequest = unprocessable(
        "you cannot decline your own request",
        code: "friendship.cannot_decline_own_request"
    )

    // MARK: - What is away

    static let accountsUnavailable = HTTPError(
        status: 503,
        code: "accounts.unavailable",
        message: "accounts cannot be looked up now, try again",
        retryAfter: 2
    )
    static let databaseUnavailable = HTTPError(
        status: 503,
        code: "database.unavailable",
        message: "groups are unavailable, try again",
        retryAfter: 2
    )
    static func tooManyRequests(retryAfter seconds: Int) -> HTTPError {
        HTTPError(
            status: 429,
            code: "rate.requests",
            message: "too many requests, slow down",
            retryAfter: seconds
        )
    }
}
