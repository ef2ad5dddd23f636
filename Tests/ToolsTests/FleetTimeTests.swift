import ServiceKit
import TestKit
import Testing

@testable import Operations

@Suite(.timeLimit(.minutes(2))) struct FleetTimeTests {
    @Test func `the clock is fixed once and then read, whatever is set later`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        let url = database.url
        func time(_ start: String?) async throws -> FleetTime {
            let environment = start.map { ["ALONGSIDE_CLOCK_START": $0] } ?? [:]
            return try await onOneThread { try FleetTime(url, environment: environment) }
        }
        let unshifted = try await time(nil)
        #expect(unshifted.offsetSeconds == 0)
        #expect(unshifted.warning == nil)
        let now = ApplicationClock.live().now()
        let first = try await time("2027-02-16T16:00:00Z")
        #expect(abs(now + first.offsetSeconds - 1_802_793_600) <= 30)
        #expect(first.warning?.contains("says 2027-02-16T16:0") == true)
        for start in ["2026-05-01T00:00:00Z", nil] {
            #expect(try await time(start).offsetSeconds == first.offsetSeconds)
        }
        await #expect(throws: OperationError.self) { try await time("tomorrow") }
    }
}
