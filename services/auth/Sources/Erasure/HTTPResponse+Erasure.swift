internal import Web

extension HTTPResponse {
    /// The answer to who wants to be forgotten.
    ///
    /// 204 when nothing is stored any more; 202 when an owner of data is away, and the erasure, which
    /// stands already, is finished without another call.
    static func erasure(isDone: Bool) -> HTTPResponse {
        guard !isDone else { return .empty() }
        var json = JSONWriter()
        json.beginObject()
        json.member("status", "erasure under way")
        json.endObject()
        return .json(bytes: json.bytes, status: 202)
    }
}
