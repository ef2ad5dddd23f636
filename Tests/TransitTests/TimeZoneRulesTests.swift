import Foundation
import Testing

@testable import Transit

@Suite struct TimeZoneRulesTests {
    /// The zones of the recorded feeds, and some whose rules are odd.
    static let names = [
        "America/Los_Angeles", "America/New_York", "Australia/Brisbane", "Europe/Berlin",
        "America/Fortaleza", "America/Sao_Paulo", "Europe/Warsaw", "Europe/Dublin",
        "Europe/Helsinki", "Asia/Jerusalem", "US/Pacific", "UTC", "Etc/GMT+12", "Etc/GMT-14",
        "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia",
        "America/Santiago", "America/Nuuk", "Africa/Casablanca", "Pacific/Chatham",
    ]

    @Test(arguments: names)
    func `agrees with Foundation around every change of clocks`(name: String) throws {
        let zone = try TimeZoneRules(named: name)
        let peer = try #require(TimeZone(identifier: name))
        let end = Date(timeIntervalSince1970: 2_650_000_000)
        var instant = Date(timeIntervalSince1970: 0)
        var changes: [Int64] = [0, 1_000_000_000, 2_000_000_000, 4_000_000_000]
        while let next = peer.nextDaylightSavingTimeTransition(after: instant), next < end,
            next > instant
        {
            changes.append(Int64(next.timeIntervalSince1970))
            instant = next
        }
        for change in changes {
            let differing = [-86_400, -3600, -1, 0, 1, 3600, 86_400, 86_400 * 90].filter {
                let now = change + Int64($0)
                let date = Date(timeIntervalSince1970: Double(now))
                return zone.offsetSeconds(at: now) != peer.secondsFromGMT(for: date)
            }
            #expect(differing.isEmpty, "seconds after \(change)")
        }
    }

    @Test(arguments: names)
    func `starts service twelve hours before local noon on every day`(name: String) throws {
        let zone = try TimeZoneRules(named: name)
        let peer = try #require(TimeZone(identifier: name))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = peer
        var date = try #require(ServiceDate("20200101"))
        let last = try #require(ServiceDate("20281231"))
        while date <= last {
            let parts = DateComponents(
                year: date.year,
                month: date.month,
                day: date.day,
                hour: 12
            )
            let noon = calendar.date(from: parts)?.timeIntervalSince1970 ?? 0
            let start = zone.startOfService(on: date)
            let isSame = start == Int64(noon) - 43_200
            #expect(isSame && zone.localTime(at: start + 43_200) == (date, 43_200), "\(date)")
            date = date.adding(days: 1)
        }
    }

    @Test func `skips and repeats an hour as the reference says`() throws {
        let zone = try TimeZoneRules(named: "America/Los_Angeles")
        let spring = try #require(ServiceDate("20260308"))
        let autumn = try #require(ServiceDate("20261101"))
        let ordinary = try #require(ServiceDate("20260902"))
        #expect(zone.startOfService(on: ordinary) == 1_788_332_400)
        #expect(zone.localTime(at: zone.startOfService(on: spring)).secondsOfDay == 82_800)
        #expect(zone.localTime(at: zone.startOfService(on: autumn)).secondsOfDay == 3600)
        let skipped = zone.unixSeconds(date: spring, secondsOfDay: 2 * 3600 + 1800)
        #expect(zone.localTime(at: skipped).secondsOfDay == 3 * 3600 + 1800)
        let repeated = zone.unixSeconds(date: autumn, secondsOfDay: 3600 + 1800)
        #expect(zone.offsetSeconds(at: repeated) == -7 * 3600)
        #expect(zone.localTime(at: repeated).secondsOfDay == 3600 + 1800)
    }

    @Test(arguments: [
        "PST", "", ".", "..", "../../etc/passwd", "/etc/passwd", "America", "America/", "america/x",
        "America/Los Angeles", "Europe/Berlin\u{0}", "tzdata.zi", "zone.tab", "Mars/Olympus",
    ])
    func `refuses what is no zone`(name: String) {
        #expect(throws: TimeZoneError.self) { try TimeZoneRules(named: name) }
    }

    @Test func `says what it looked for`() {
        let error = #expect(throws: TimeZoneError.self) { try TimeZoneRules(named: "PST") }
        #expect(error?.description == "time zone \"PST\" does not exist")
    }

    @Test func `never traps on a damaged file`() throws {
        let file = try #require(ZoneFile.read("/usr/share/zoneinfo/Europe/Dublin"))
        #expect(throws: Never.self) { try TimeZoneRules(name: "whole", file: file) }
        for length in 0..<file.count {
            #expect(throws: TimeZoneError.self, "\(length) bytes") {
                try TimeZoneRules(name: "short", file: Array(file.prefix(length)))
            }
        }
        var random = SeededRandom(seed: 7)
        for _ in 0..<3000 {
            var damaged = file
            for _ in 0..<3 {
                let index = Int.random(in: 0..<file.count, using: &random)
                damaged[index] = UInt8.random(in: 0...255, using: &random)
            }
            if let zone = try? TimeZoneRules(name: "damaged", file: damaged) {
                for instant in [UnixSeconds.min, -1, 0, 1_788_332_400, .max] {
                    _ = zone.offsetSeconds(at: instant)
                    _ = zone.localTime(at: instant)
                }
            }
        }
    }

    @Test(arguments: [
        ("PST8PDT,M3.2.0,M11.1.0", 1_788_332_400 as Int64, -25_200),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1_767_225_600, 39_600),
        ("IST-2IDT,M3.4.4/26,M10.5.0", 1_774_569_599, 7200),
        ("IST-2IDT,M3.4.4/26,M10.5.0", 1_774_569_600, 10_800),
        ("EST5", 0, -18_000), ("XXX3EDT4,0/0,J365/23", 1_788_332_400, -14_400),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_788_332_400, -3600),
        ("AAA0BBB,J60,J61", 1_772_330_400, 3600), ("AAA0BBB,J60,J61", 1_772_330_399, 0),
    ])
    func `follows a footer's rule`(rule: String, instant: Int64, offset: Int) throws {
        let zone = try #require(PosixTimeZone(Array(rule.utf8)[...]))
        #expect(zone.offsetSeconds(at: instant) == offset)
    }

    @Test(arguments: [
        "", "P", "PS8", "PST", "PST25", "PST8PDT", "PST8PDT,M3.2.0", "PST8PDT,M13.2.0,M11.1.0",
        "PST8PDT,M3.6.0,M11.1.0", "PST8PDT,M3.2.7,M11.1.0", "PST8PDT,J0,J1", "PST8PDT,366,1",
        "PST8PDT,M3.2.0,M11.1.0,", "PST8PDT,M3.2.0/168,M11.1.0", "<PST8", "PST8:60",
        "PST99999999999999999999",
    ])
    func `refuses a broken rule`(rule: String) {
        #expect(PosixTimeZone(Array(rule.utf8)[...]) == nil)
    }
}
