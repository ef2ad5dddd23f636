import ServiceKit
import TestKit
import Transit

/// Tokens that are signed well and say something unusual.
enum TokenPayload {
    /// A driver's token with any subject.
    static func driver(subject: String, now: UnixSeconds) -> String {
        TestTokens.signed(
            header: "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"staff.1\"}",
            payload:
                "{\"iss\":\"vehicle-positions-api\",\"sub\":\"\(subject)\",\"role\":\"driver\","
                + "\"iat\":\(now),\"exp\":\(now + 900)}",
            key: KeyID(.staff, generation: 1)
        )
    }
}
