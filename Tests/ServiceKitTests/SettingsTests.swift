import FoundationEssentials
import ServiceKit
import Testing

private enum Sample {
    enum Mode: String, CaseIterable, Sendable {
        case off
        case enforce
    }

    static let port = Setting.integer("PORT", default: 8080, in: 0...65_535, "The public port.")
    static let wait = Setting.duration(
        "WAIT_TIME",
        default: .seconds(90),
        in: .seconds(1)...(.seconds(3600)),
        "How long to wait."
    )
    static let speed = Setting.number("RIDER_MAX_SPEED", default: 35, in: 0.1...200, "Speed.")
        .lenient
    static let enabled = Setting.flag("ENABLED", default: true, "Whether it runs.").lenient
    static let mode = Setting.choice("MODE", default: Mode.enforce, "What checks do.")
    static let urls = Setting.list("FEED_URLS", "Where feeds lie.")
    static let key = Setting.secret("SIGNING_KEY", minimumBytes: 4, "Signs tokens.")
    static let start = Setting.instant("CLOCK_START", "A shifted clock.")
    static let zone = Setting.requiredText("ZONE_NAME", "The agency's time zone.")

    static let table = SettingsTable(
        [
            port.declaration, wait.declaration, speed.declaration, enabled.declaration,
            mode.declaration, urls.declaration, key.declaration, start.declaration,
            zone.declaration,
        ],
        rules: [
            SettingsRule(over: [mode.key, key.key]) { settings in
                guard settings[mode] == .off, settings[key] != nil else { return [] }
                return [SettingFault("SIGNING_KEY needs MODE=enforce")]
            }
        ]
    )
}

@Suite struct SettingsTests {
    /// A fault of one setting hides none of another's, and causes none.
    @Test(arguments: [
        (["PORT": "x", "MODE": "off", "SIGNING_KEY": "good"], ["PORT", "SIGNING_KEY"]),
        (["PORT": "x", "MODE": "maybe", "SIGNING_KEY": "good"], ["PORT", "MODE"]),
        (["MODE": "off", "SIGNING_KEY": "x"], ["SIGNING_KEY"]),
    ])
    func `rules over settings that are right are asked beside faults of others`(
        environment: [String: String],
        keys: [String]
    ) {
        let error = #expect(throws: SettingsError.self) {
            try Sample.table.read(environment: environment)
        }
        // The required setting is missing each time.
        let named = error?.faults.map { String($0.description.prefix { $0 != " " }) } ?? []
        #expect(named.sorted() == (keys + ["ZONE_NAME"]).sorted())
    }

    @Test func `takes defaults where nothing or an empty text is given`() throws {
        let settings = try Sample.table.read(environment: ["ZONE_NAME": "Etc/UTC", "PORT": ""])
        #expect(settings[Sample.port] == 8080)
        #expect(settings[Sample.wait] == .seconds(90))
        #expect(settings[Sample.key] == nil)
        #expect(settings[Sample.start] == nil)
        #expect(settings[Sample.urls] == [])
        #expect(settings.warnings.isEmpty)
    }

    @Test func `reads every kind`() throws {
        let settings = try Sample.table.read(
            environment: [
                "ZONE_NAME": "Etc/UTC", "PORT": "0", "WAIT_TIME": "1h", "RIDER_MAX_SPEED": "12.5",
                "ENABLED": "F", "MODE": "enforce", "FEED_URLS": " a ,, b c\t,",
                "SIGNING_KEY": "päß", "CLOCK_START": "2026-02-16T17:00:00+01:00",
            ]
        )
        #expect(settings[Sample.port] == 0)
        #expect(settings[Sample.wait] == .seconds(3600))
        #expect(settings[Sample.speed] == 12.5)
        #expect(settings[Sample.enabled] == false)
        #expect(settings[Sample.urls] == ["a", "b c"])
        #expect(settings[Sample.key]?.revealed() == "päß")
        #expect(settings[Sample.start] == 1_771_257_600)
    }

    @Test func `reports every fault at once with key, value and allowed range`() throws {
        let error = #expect(throws: SettingsError.self) {
            try Sample.table.read(
                environment: [
                    "PORT": "65536", "WAIT_TIME": "1d", "MODE": "on", "SIGNING_KEY": "abc",
                    "CLOCK_START": "yesterday",
                ]
            )
        }
        #expect(
            error?.description == """
                6 settings are wrong:
                  PORT = "65536": must be a whole number from 0 to 65535
                  WAIT_TIME = "1d": must be a duration such as 90s or 1h30m, from 1s to 1h
                  MODE = "on": must be one of off, enforce
                  SIGNING_KEY = (a secret of 3 bytes): must be at least 4 bytes long
                  CLOCK_START = "yesterday": must be an instant such as 2026-02-16T16:00:00Z
                  ZONE_NAME is missing: The agency's time zone.

                """
        )
    }

    @Test(arguments: ["0", "-3", "nan", "inf", "200.5", "fast"])
    func `falls back with a warning where the specification says so`(text: String) throws {
        let settings = try Sample.table.read(
            environment: ["ZONE_NAME": "Etc/UTC", "RIDER_MAX_SPEED": text, "ENABLED": "no"]
        )
        #expect(settings[Sample.speed] == 35)
        #expect(settings[Sample.enabled])
        #expect(settings.warnings.count == 2)
        #expect(
            settings.warnings.first
                == "RIDER_MAX_SPEED = \"\(text)\": must be a number from 0.1 to 200.0; using 35.0"
        )
    }

    @Test func `checks settings against each other once each is right`() {
        let environment = ["ZONE_NAME": "Etc/UTC", "MODE": "off", "SIGNING_KEY": "abcd"]
        let error = #expect(throws: SettingsError.self) {
            try Sample.table.read(environment: environment)
        }
        #expect(error?.faults == [SettingFault("SIGNING_KEY needs MODE=enforce")])
    }

    @Test func `an option on the command line wins over the environment`() throws {
        let settings = try Sample.table.read(
            environment: ["ZONE_NAME": "Etc/UTC", "PORT": "1"],
            options: ["PORT": "2"]
        )
        #expect(settings[Sample.port] == 2)
        #expect(settings.origin(of: Sample.port) == .commandLine)
    }

    @Test(arguments: [
        ("WAIT_TIMES", "WAIT_TIME"), ("WAIT_TIM", "WAIT_TIME"), ("WIAT_TIME", "WAIT_TIME"),
        ("WAIT_TIMR", "WAIT_TIME"), ("SIGNING_KEYS", "SIGNING_KEY"),
    ])
    func `asks whether a misspelt variable was meant`(name: String, meant: String) throws {
        let settings = try Sample.table.read(environment: ["ZONE_NAME": "x", name: "1h"])
        #expect(settings.warnings == ["\(name) is not a setting; did you mean \(meant)?"])
    }

    @Test func `prints values with their origin and hides secrets`() throws {
        let settings = try Sample.table.read(
            environment: ["ZONE_NAME": "Etc/UTC", "SIGNING_KEY": "correct horse"]
        )
        let text = settings.printed(Sample.table)
        #expect(text.contains("SIGNING_KEY=<hidden>  # environment\n"))
        #expect(text.contains("PORT=8080             # default\n"))
        #expect(!text.contains("horse"))
        #expect(!"\(settings)".contains("horse"))
    }

    @Test func `help and reference name every setting`() {
        let help = Sample.table.help(program: "sample", summary: "Samples.")
        for declaration in Sample.table.declarations {
            #expect(help.contains("  \(declaration.key)  ("))
            #expect(help.contains(declaration.documentation))
            #expect(Sample.table.reference().contains("| `\(declaration.key)` |"))
        }
    }
}

@Suite struct SecretFileTests {
    private let path = FileManager.default.temporaryDirectory.path + "/kit-\(UUID().uuidString)"

    private func read(_ content: String, beside: String = "") throws -> Settings {
        try content.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try Sample.table.read(
            environment: ["ZONE_NAME": "x", "SIGNING_KEY_FILE": path, "SIGNING_KEY": beside]
        )
    }

    @Test func `reads a secret from a file and cuts the final line feed`() throws {
        #expect(try read("hunter22\n")[Sample.key]?.revealed() == "hunter22")
        #expect(try read("hunter22\r\n")[Sample.key]?.revealed() == "hunter22")
        #expect(try read("a b ")[Sample.key]?.revealed() == "a b ")
    }

    @Test(arguments: [
        ("", "the file is empty"), ("\n", "the file is empty"),
        (String(repeating: "x", count: 65_537), "the file is longer than 65536 bytes"),
    ])
    func `refuses a file without a secret`(content: String, reason: String) {
        let error = #expect(throws: SettingsError.self) { try read(content) }
        #expect(error?.faults == [SettingFault("SIGNING_KEY_FILE = \"\(path)\": \(reason)")])
    }

    @Test func `refuses a missing file and a secret given twice`() {
        let missing = #expect(throws: SettingsError.self) {
            try Sample.table.read(environment: ["ZONE_NAME": "x", "SIGNING_KEY_FILE": path])
        }
        #expect(missing?.description.contains("does not exist or cannot be read") == true)
        let twice = #expect(throws: SettingsError.self) { try read("hunter22", beside: "other") }
        #expect(twice?.description.contains("are both set; keep one of them") == true)
    }
}
