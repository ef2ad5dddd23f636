import Operations
import Testing

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
}
