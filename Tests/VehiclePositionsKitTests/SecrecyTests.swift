import Foundation
import Testing

@testable import VehiclePositionsKit

@Suite struct SecrecyTests {
    /// What a log, a debugger and a dump make of a value.
    private func words(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \([value]) \(String(reflecting: value)) \(dumped)"
    }

    @Test func `no log shows a token or a position`() {
        let credentials = RiderCredentials(
            installationID: UUID(),
            riderID: "rider-1",
            token: "secret-1"
        )
        let request = RiderRequest(
            method: "POST",
            path: "/api",
            query: ["q": "secret-2"],
            body: Data("secret-3".utf8),
            bearerToken: "secret-4"
        )
        for text in [words(credentials), words(request)] { #expect(!text.contains("secret")) }
        #expect("\(request)" == "POST /api")
        #expect("\(credentials)".contains("rider-1"))
    }
}
