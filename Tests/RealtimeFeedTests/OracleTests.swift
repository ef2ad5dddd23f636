import RealtimeFeed
import Testing

/// What we read and write against gtfs-realtime-bindings, which share no code with us.
@Suite struct OracleTests {
    private func compare(_ feeds: [(name: String, bytes: [UInt8])]) throws {
        let folder = TemporaryFolder()
        for (name, bytes) in feeds {
            try File.write(bytes, to: "\(folder.path)/\(name).pb")
            try File.write(
                try FeedMessage(decoding: bytes).json(),
                to: "\(folder.path)/\(name).json"
            )
        }
        let outcome = Python.run(Python.interpreter, Python.oracle, "compare", folder.path)
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(outcome.output == "compared \(feeds.count)\n")
    }

    @Test(.timeLimit(.minutes(1)))
    func `every recorded feed reads as the bindings read it`() throws {
        let names = File.names(in: Python.captures).filter { $0.hasSuffix(".pb") }
        #expect(names.count >= 9)
        try compare(
            names.map { ($0, try File.read(Python.captures + "/" + $0)) }
        )
    }

    @Test(.timeLimit(.minutes(1)))
    func `recorded feeds in JSON read as the bindings read them`() throws {
        let folder = TemporaryFolder()
        let names = File.names(in: Python.captures).filter { $0.hasSuffix(".json") }
        #expect(names.count == 4)
        var feeds: [(name: String, bytes: [UInt8])] = []
        for name in names {
            let binary = "\(folder.path)/\(name).pb"
            let outcome = Python.run(
                Python.interpreter,
                Python.oracle,
                "to-pb",
                Python.captures + "/" + name,
                binary
            )
            try #require(outcome.status == 0, "\(outcome.output)")
            feeds.append((name, try File.read(binary)))
        }
        try compare(feeds)
    }

    @Test(.timeLimit(.minutes(1)))
    func `recorded feeds encoded again read there as before`() throws {
        let names = File.names(in: Python.captures).filter { $0.hasSuffix(".pb") }
        try compare(
            names.map { name in
                let feed = try FeedMessage(decoding: try File.read(Python.captures + "/" + name))
                let bytes = feed.encoded()
                #expect(try FeedMessage(decoding: bytes) == feed)
                return (name, bytes)
            }
        )
    }

    @Test(.timeLimit(.minutes(1)))
    func `every field and every name of an enumeration is the schema's`() throws {
        try compare([("everything", Samples.everything.encoded())])
    }

    @Test(.timeLimit(.minutes(1)))
    func `the comparison itself can fail`() throws {
        let folder = TemporaryFolder()
        let feed = Samples.feed([Samples.vehicle(bearing: 90)])
        let other = Samples.feed([Samples.vehicle(bearing: 91)])
        try File.write(feed.encoded(), to: folder.path + "/a.pb")
        try File.write(other.json(), to: folder.path + "/a.json")
        let outcome = Python.run(Python.interpreter, Python.oracle, "compare", folder.path)
        #expect(outcome.status != 0)
        #expect(outcome.output.contains("bearing: theirs 90.0, ours 91.0"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `the schema is that of the pinned bindings`() throws {
        let folder = TemporaryFolder()
        let descriptor = folder.path + "/schema"
        let proto = Python.root + "/shared/realtime-feed/proto"
        let compiled = Python.run(
            "protoc",
            "-I" + proto,
            "--descriptor_set_out=" + descriptor,
            proto + "/gtfs-realtime.proto"
        )
        try #require(compiled.status == 0, "\(compiled.output)")
        let script = Python.root + "/Tests/RealtimeFeedTests/schema.py"
        #expect(Python.run(Python.interpreter, script, descriptor).output == "same schema\n")
    }
}
