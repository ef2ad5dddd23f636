import Foundation
import Testing

@testable import CompanionKit

@Suite struct SecrecyTests {
    /// What a log, a debugger and a dump make of a value.
    private func words(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \([value]) \(String(reflecting: value)) \(dumped)"
    }

    @Test func `no log shows a token, a password or a position`() {
        let request = CompanionRequest(
            method: "PUT",
            path: "/api",
            query: ["q": "secret-1"],
            body: Data("secret-2".utf8),
            bearerToken: "secret-3"
        )
        for text in [words(request), words(BearerToken(text: "secret-4"))] {
            #expect(!text.contains("secret"))
        }
        #expect("\(request)" == "PUT /api")
    }
}
