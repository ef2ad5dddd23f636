import Database
import Testing

@Suite(.timeLimit(.minutes(1))) struct URLFaultTests {
    @Test(arguments: [
        "postgresql://u:s3c/ret@127.0.0.1:9/x", "postgresql://u:s3c@ret@127.0.0.1:9/x",
        "postgresql://u:s3c%ret@127.0.0.1:9/x", "postgresql://u:3/ret@127.0.0.1:9/x",
        "postgresql://u:3?s3c@ret@127.0.0.1:9/x", "host=127.0.0.1 port=9 password=s3c ret",
    ])
    func `a password that breaks its URL is in no error`(url: String) {
        let error = #expect(throws: DatabaseError.self) { try connect(url) }
        #expect(error?.kind == .connection)
        #expect(error?.message.contains("in user and password write / as %2F") == true)
        #expect(error?.message.contains("s3c") == false)
        #expect(error?.message.contains("ret") == false)
    }

    @Test(arguments: [
        "postgresql://u:s3c%2Fret@127.0.0.1:9/x", "postgresql://u:s3c:ret@127.0.0.1:9/x",
        "postgresql://u:a%40b@127.0.0.1:9/x", "postgresql:///x?host=/nowhere@all&user=u",
        "postgresql://u@127.0.0.1:9,127.0.0.1:8/x",
    ])
    func `a URL that is right is told why nobody answers`(url: String) {
        let error = #expect(throws: DatabaseError.self) { try connect(url) }
        #expect(error?.message.contains("connection to server") == true)
        #expect(error?.message.contains("s3c") == false)
    }

    private func connect(_ url: String) throws(DatabaseError) {
        try Connection.open(DatabaseConfiguration(url: url)) { _ throws(DatabaseError) in }
    }
}
