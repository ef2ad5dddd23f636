import Telemetry
import Testing

@testable import Bus

/// What may wait for the bus thread.
@Suite struct MailboxTests {
    private func mailbox(messages: Int = 4, bytes: Int = 100) throws -> BusMailbox {
        var limits = BusLimits()
        limits.queuedPublications = messages
        limits.queuedPublicationBytes = bytes
        return try BusMailbox(limits: limits)
    }

    private func publication(
        _ key: String,
        bytes: Int,
        _ kind: Publication.Kind = .retained
    ) -> Publication {
        Publication(
            topic: "t",
            key: key,
            body: Array(repeating: 1, count: bytes),
            trace: .random(),
            kind: kind
        )
    }

    @Test func `publications wait up to a number and up to a size`() throws {
        let few = try mailbox(messages: 2)
        #expect(few.publish(publication("a", bytes: 1)))
        #expect(few.publish(publication("b", bytes: 1)))
        #expect(!few.publish(publication("c", bytes: 1)))

        let large = try mailbox()
        #expect(large.publish(publication("a", bytes: 60)))
        #expect(!large.publish(publication("b", bytes: 41)))
        #expect(large.publish(publication("b", bytes: 40)))
        #expect(!large.publish(publication("c", bytes: 1, .passing)))
        #expect(large.publish(publication("c", bytes: 0, .passing)))
    }

    @Test func `a newer state takes the room of the one that it overtakes`() throws {
        let mailbox = try mailbox()
        #expect(mailbox.publish(publication("a", bytes: 60)))
        #expect(mailbox.publish(publication("a", bytes: 100)))
        #expect(!mailbox.publish(publication("a", bytes: 101)))
        #expect(mailbox.publish(publication("a", bytes: 10)))
        #expect(mailbox.publish(publication("b", bytes: 90)))
        #expect(mailbox.takeAll().publications.map(\.body.count) == [10, 90])
    }

    @Test func `what was taken makes room`() throws {
        let mailbox = try mailbox()
        for _ in 0..<3 {
            #expect(mailbox.publish(publication("a", bytes: 100)))
            #expect(!mailbox.publish(publication("b", bytes: 1)))
            #expect(mailbox.takeAll().publications.count == 1)
        }
    }
}
