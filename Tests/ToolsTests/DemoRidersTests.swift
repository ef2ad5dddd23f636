import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operations
@testable import RiderSimulation

@Suite(.timeLimit(.minutes(2))) struct DemoRidersTests {
    private let own: OwnFolder
    private let folder: DataFolder
    private let installation: Installation

    init() throws {
        own = try OwnFolder()
        folder = try DataFolder(opening: own.path)
        installation = try Installation(environment: ["ALONGSIDE_HOME": ProjectPaths.root])
    }

    @Test func `ride with a command line that ridersim takes, on the fleet's clock`() throws {
        let riders = try DemoRiders(installation, folder, environment: [:])
        let program = riders.program(
            schedule: "/x.zip",
            url: "http://[::1]:8081",
            clockOffset: -90
        )
        let options = try SimulatorOptions(arguments: ["ridersim"] + program.arguments)
        #expect(options.clockOffsetSeconds == -90)
        #expect(options.gtfs == "/x.zip")
        #expect(options.url == "http://[::1]:8081")
        #expect(options.installations == own.path + "/demo-riders")
        #expect(program.stage == .riders)
    }

    @Test(arguments: [("garbage", false), ("{}", true), (#"{"1.1":{"installationID":"x"}}"#, true)])
    func `a broken file of riders stops the start`(content: String, isFine: Bool) throws {
        try content.write(toFile: own.path + "/demo-riders", atomically: true, encoding: .utf8)
        if isFine {
            _ = try DemoRiders(installation, folder, environment: [:])
        } else {
            let error = #expect(throws: OperationError.self) {
                try DemoRiders(installation, folder, environment: [:])
            }
            #expect(error?.description.hasPrefix(own.path + "/demo-riders cannot be read") == true)
        }
    }

    @Test func `riders without the riders' mode stop the start`() throws {
        let error = #expect(throws: OperationError.self) {
            try DemoRiders(installation, folder, environment: ["RIDER_MODE_ENABLED": "false"])
        }
        #expect(error?.description.contains("RIDER_MODE_ENABLED is off") == true)
    }
}
