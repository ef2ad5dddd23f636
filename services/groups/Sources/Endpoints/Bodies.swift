internal import Messages
internal import Transit
internal import Web

// Bodies of the social API ignore members that they do not know (decision 26), so none is finished.

extension JSONObject {
    /// A text that must be there.
    func requiredString(_ name: String) throws(HTTPError) -> String {
        guard let text = try string(name) else { throw .missing(name) }
        return text
    }

    /// A flag that must be there.
    func requiredBool(_ name: String) throws(HTTPError) -> Bool {
        guard let flag = try bool(name) else { throw .missing(name) }
        return flag
    }

    /// The handle in `username`, as a person typed it.
    func username() throws(HTTPError) -> Handle {
        guard let handle = Handle(try requiredString("username").trimmingWhitespace()) else {
            throw .usernameInvalid
        }
        return handle
    }

    /// A phone's instant in POSIX milliseconds; what is absent or not above 0 is `now`.
    func timestamp(now: Int64) throws(HTTPError) -> Int64 {
        guard let timestamp = try int64("timestampMs"), timestamp > 0 else { return now }
        return timestamp
    }
}

extension HTTPRequest {
    /// The group of the path; what is no id was never a group.
    var groupID: UniqueID {
        get throws(HTTPError) {
            guard let id = UniqueID(parameter("id")) else { throw .groupNotFound }
            return id
        }
    }

    /// A whole number of the query, at least 0; nil when it is absent.
    ///
    /// - Throws: 400 for what is no whole number of 64 bits.
    func wholeNumber(_ name: String) throws(HTTPError) -> Int64? {
        guard let text = query.first(name) else { return nil }
        guard let number = Int64(text) else {
            throw .badRequest("\(name) must be a whole number", code: "query.invalid")
        }
        return max(0, number)
    }
}

extension HTTPResponse {
    /// An answer written by `body`.
    static func json(status: Int = 200, _ body: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter()
        body(&writer)
        return .json(bytes: writer.bytes, status: status)
    }

    /// The body `{"status": …}`.
    static func status(_ status: String) -> HTTPResponse {
        .json { json in
            json.beginObject()
            json.member("status", status)
            json.endObject()
        }
    }
}
