import CompanionKit
import Testing

@testable import CompanionTool

@Suite struct CompanionOptionTests {
    func read(_ words: String...) throws(CompanionOptions.Faults) -> CompanionOptions {
        try CompanionOptions(arguments: ["companion"] + words)
    }

    @Test func `reads a command, a group and flags in any order`() throws {
        let options = try read(
            "-handle",
            "ann",
            "share",
            "Ride",
            "--at=46,14.5",
            "-to",
            "46.1,14.5",
            "-speed",
            "36",
            "--for",
            "1m30s",
            "-url",
            "https://companion.example",
            "-data",
            "folder"
        )
        #expect(options.command == .share && options.group == "Ride")
        #expect(options.start == Coordinate(latitude: 46, longitude: 14.5))
        #expect(options.destination == Coordinate(latitude: 46.1, longitude: 14.5))
        #expect(options.speedKilometersPerHour == 36)
        #expect(options.duration == .seconds(90))
        #expect(options.kind == .convoy)
    }

    @Test func `reads whom to befriend and invite, and the switch`() throws {
        let options = try read(
            "join",
            "Family",
            "-kind",
            "circle",
            "-handle",
            "ann",
            "-sign-up",
            "-befriend",
            "bob",
            "-invite",
            "bob",
            "-invite",
            "eve",
            "-sharing",
            "off"
        )
        #expect(options.kind == .circle && options.signsUp)
        #expect(options.friends == ["bob"] && options.invited == ["bob", "eve"])
        #expect(options.sharing == false)
    }

    @Test func `reads a vote and an offer with names that hold commas`() throws {
        #expect(try read("vote", "Ride", "2", "-handle", "ann").vote == 2)
        let offer = try read("vote", "Ride", "-handle", "ann", "-offer", "1,2,Lake, north")
        #expect(offer.candidates.map(\.name) == ["Lake, north"])
        #expect(offer.vote == nil)
    }

    @Test(
        arguments: [
            (["ride"], "the first word must be one of join, share, watch, vote"),
            (["watch"], "name a group after watch"),
            (["vote", "Ride", "4", "-handle", "a"], "a vote is a number from 1 to 3"),
            (["vote", "Ride", "-handle", "a"], "vote for a number, or open a vote with -offer"),
            (["share", "Ride", "-handle", "a"], "say where with -at"),
            (["watch", "Ride", "more", "-handle", "a"], "unexpected argument \"more\""),
            (
                ["watch", "Ride"],
                "say who you are with -handle, or where your session is with -data"
            ),
            (["watch", "Ride", "-data", "x", "-sign-up"], "-sign-up needs -handle"),
            (
                ["share", "Ride", "-handle", "a", "-at", "91,0"],
                "-at must be LAT,LON in degrees, not \"91,0\""
            ),
            (
                ["watch", "R", "-handle", "a", "-for", "5"],
                "-for must be from 1s to 24h with a unit, not \"5\""
            ),
            (["watch", "R", "-handle", "a", "-kind", "crowd"], "-kind must be circle or convoy"),
            (
                ["watch", "R", "-handle", "a", "-url", "ftp://x"],
                "-url must be an http or https URL, not \"ftp://x\""
            ),
        ]
    )
    func `says what is wrong`(words: [String], sentence: String) {
        #expect {
            try CompanionOptions(arguments: ["companion"] + words)
        } throws: {
            ($0 as? CompanionOptions.Faults)?.sentences.contains(sentence) == true
        }
    }
}
