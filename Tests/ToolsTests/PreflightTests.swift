import ServiceKit
import Testing

@testable import Operations

/// What `alongside up` says of its settings before anything is made.
@Suite struct PreflightTests {
    private let schedule = ["GTFS_STATIC_URL": "/x/gtfs.zip"]

    private func faults(_ environment: [String: String], isDemo: Bool = false) -> [String] {
        do throws(OperationError) {
            _ = try Preflight.check(environment, isDemo: isDemo)
            return []
        } catch {
            // The first line counts them.
            return error.description.split(separator: "\n").dropFirst().map {
                String($0.drop { $0 == " " })
            }
        }
    }

    private func keys(_ faults: [String]) -> [String] {
        faults.map { String($0.prefix { $0 != " " && $0 != ":" }) }.sorted()
    }

    @Test func `nothing but a schedule is needed, and for the demo nothing`() {
        #expect(faults(schedule) == [])
        #expect(faults([:], isDemo: true) == [])
        #expect(keys(faults([:])) == ["GTFS_STATIC_URL"])
    }

    @Test func `faults of up and of services are one report`() {
        let wrong = [
            "VERIFIERS": "0", "LOG_LEVEL": "loud", "ALONGSIDE_CLOCK_START": "tomorrow",
            "JWT_SECRET": "short", "GTFS_STATIC_URL": "",
        ]
        let all = [
            "ALONGSIDE_CLOCK_START", "GTFS_STATIC_URL", "JWT_SECRET", "LOG_LEVEL", "VERIFIERS",
        ]
        #expect(keys(faults(wrong)) == all)
    }

    @Test(arguments: [("foo://bar", false), ("ipc://x", false), ("ipc:///x/", true)])
    func `the bus has an address that it can have`(prefix: String, isRight: Bool) {
        let wrong = keys(faults(schedule.merging(["BUS_URL_PREFIX": prefix]) { $1 }))
        #expect(wrong == (isRight ? [] : ["BUS_URL_PREFIX"]))
    }

    @Test(arguments: [
        (["ADMIN_BOOTSTRAP_EMAIL": "notmail"], ["ADMIN_BOOTSTRAP_EMAIL"]),
        (["ADMIN_BOOTSTRAP_EMAIL": "a@b"], []),
        (
            ["ADMIN_BOOTSTRAP_EMAIL": "a@b", "ADMIN_BOOTSTRAP_PASSWORD": "short"],
            ["ADMIN_BOOTSTRAP_PASSWORD"]
        ),
        (["ADMIN_BOOTSTRAP_PASSWORD": "1234567"], ["ADMIN_BOOTSTRAP_PASSWORD"]),
        (["ADMIN_BOOTSTRAP_PASSWORD": "12345678"], []),
        (["ADMIN_BOOTSTRAP_PASSWORD_FILE": "/nowhere/x"], ["ADMIN_BOOTSTRAP_PASSWORD_FILE"]),
    ])
    func `a first admin who cannot be made stops the start`(
        environment: [String: String],
        wrong: [String]
    ) {
        #expect(keys(faults(environment.merging(schedule) { $1 })) == wrong)
    }

    @Test(arguments: [
        ("ftp://x/y.zip", false), ("file:///x/y.zip", false), ("HTTP://x/y.zip", false),
        ("http://x/y.zip", true), ("https://x/y.zip", true), ("y.zip", true), ("a:b/y.zip", true),
    ])
    func `a schedule lies at a path or at an http address`(location: String, isFine: Bool) {
        #expect(faults(["GTFS_STATIC_URL": location]).isEmpty == isFine)
    }

    @Test func `a likely mistyping is warned of once`() throws {
        let given = schedule.merging(["LOG_LEVELS": "info"]) { $1 }
        let warnings = try Preflight.check(given, isDemo: false).warnings
        #expect(warnings == ["LOG_LEVELS is not a setting; did you mean LOG_LEVEL?"])
    }
}
