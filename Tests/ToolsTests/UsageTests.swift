import Testing

@testable import Operations

@Suite struct UsageTests {
    private static let commands: [([String], Int32)] = [
        (["up", "--help"], 0), (["up", "--print-configuration", "--port", "8081"], 0),
        (["up", "--port", "99999", "--print-configuration"], 1), (["up", "--nonsense"], 2),
        (["up", "demo"], 2), (["backup"], 2), (["restore", "a", "b"], 2), (["nonsense"], 2),
        ([], 2), (["help"], 0),
    ]

    @Test(arguments: commands)
    func `ends with the code of the usage`(arguments: [String], code: Int32) {
        #expect(Alongside.run(arguments: arguments, environment: [:]) == code)
    }

    @Test func `an unknown command is named, and of a known one its own usage is shown`() {
        #expect(
            Alongside.fault(["frob", "x"])
                == "alongside: there is no command \"frob\"; alongside help lists all"
        )
        let user = Alongside.fault(["user"])
        #expect(user.hasPrefix("alongside: user is used so:\n  user add --role admin|driver"))
        #expect(user.hasSuffix("made and shown once"))
        let schedule = Alongside.fault(["schedule", "check"])
        #expect(schedule.contains("\n  schedule check FILE|URL"))
        #expect(schedule.contains("\n  schedule rebase IN OUT"))
        #expect(!schedule.contains("backup"))
        #expect(Alongside.fault([]) == Alongside.usage)
    }
}
