import Foundation
import Messages
import RealtimeFeed
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Agencies' feeds over real sockets: good ones, and everything that is not.
@Suite(.timeLimit(.minutes(2))) struct AgencyPollerTests {
    private let now = TripEstimate.now

    private func poller(
        _ urls: [String],
        limits: HTTPClientLimits = AgencyPoller.limits,
        turn: @escaping @Sendable () -> UInt64? = { 1 }
    ) -> AgencyPoller {
        AgencyPoller(
            urls: urls,
            clock: { TripEstimate.now },
            turn: turn,
            limits: limits,
            logger: .silent,
            metrics: Metrics()
        )
    }

    private static let good = FeedMessage.sample([.agency()]).encoded()

    @Test func `asks with the tag and time that the server gave`() async {
        let server = HostileServer { socket, _ in
            HostileServer.answer(
                "200 OK",
                "ETag: \"v1\"\r\nLast-Modified: Mon, 16 Feb 2026 16:00:00 GMT\r\n",
                Self.good
            )(socket, 0)
        }
        let poller = poller([server.url])
        #expect(!poller.wasTried)
        await poller.poll()
        #expect(poller.wasTried)
        let version = poller.version
        await poller.poll()
        #expect(poller.version == version)
        let requests = server.requests
        #expect(!requests[0].contains("If-None-Match"))
        #expect(requests[1].contains("If-None-Match: \"v1\""))
        #expect(requests[1].contains("If-Modified-Since: Mon, 16 Feb 2026 16:00:00 GMT"))
    }

    @Test func `a feed that fails harms no other`() async {
        let healthy = HostileServer(HostileServer.answer("200 OK", "", Self.good))
        let broken = HostileServer(HostileServer.answer("503 Service Unavailable"))
        let poller = poller([broken.url, healthy.url])
        await poller.poll()
        #expect(poller.feeds.map(\.lastError) == ["the server answered 503", ""])
        #expect(poller.feeds[0].lastSuccess == nil)
        #expect(poller.feeds[1].lastSuccess == now)
        #expect(poller.feeds[1].reading.vehicles.count == 1)
        #expect(poller.wasTried)
    }

    @Test func `a feed that hangs keeps no other waiting`() async throws {
        let healthy = HostileServer(HostileServer.answer("200 OK", "", Self.good))
        // It says nothing until its caller gives up.
        let hanging = HostileServer { socket, _ in
            var byte: UInt8 = 0
            _ = recv(socket, &byte, 1, 0)
        }
        let poller = poller([hanging.url, healthy.url])
        let polling = Task {
            await poller.run(every: .milliseconds(1), polled: {})
        }
        try await eventually("the other is asked more often", within: .seconds(100)) {
            healthy.requests.count >= hanging.requests.count + 4
        }
        polling.cancel()
        await polling.value
    }

    @Test func `a feed is asked only by whose turn it is`() async throws {
        let server = HostileServer(HostileServer.answer("200 OK", "", Self.good))
        let turns = Mutex(0)
        let poller = poller(
            [server.url],
            turn: {
                turns.withLock { turns in
                    turns += 1
                    return turns == 1 ? 1 : nil
                }
            }
        )
        let polling = Task { await poller.run(every: .milliseconds(1), polled: {}) }
        try await eventually("it would have been asked again") { turns.withLock { $0 } >= 3 }
        polling.cancel()
        await polling.value
        #expect(server.requests.count == 1)
    }

    @Test func `a turn begins with a poll, however long ago the next one was due`() async throws {
        let server = HostileServer(HostileServer.answer("200 OK", "", Self.good))
        let turn = Mutex<UInt64?>(1)
        let metrics = Metrics()
        let poller = AgencyPoller(
            urls: [server.url],
            clock: { TripEstimate.now + 7 },
            turn: { turn.withLock { $0 } },
            logger: .silent,
            metrics: metrics
        )
        let polling = Task { await poller.run(every: .seconds(3600), polled: {}) }
        func age() -> Substring? {
            metrics.rendered().split(separator: "\n").first {
                $0.hasPrefix("agency_feed_age_seconds{")
            }?.split(separator: " ").last
        }
        try await eventually("it is asked") { poller.wasTried }
        let version = poller.version
        #expect(age() == "0.0")
        // While another asks, the age of what was read here says nothing.
        turn.withLock { $0 = nil }
        #expect(age() == "-1.0")
        turn.withLock { $0 = 3 }
        try await eventually("it is asked in its new turn") { poller.feeds[0].triedIn == 3 }
        #expect(server.requests.count == 2)
        // The same answer counts anew.
        #expect(poller.version == version + 1)
        polling.cancel()
        await polling.value
    }

    @Test func `a feed's age begins anew with a turn, in which another asked before`() async throws
    {
        let isAway = Atomic<Bool>(false)
        let good = HostileServer.answer("200 OK", "", Self.good)
        let server = HostileServer { socket, port in
            if !isAway.load(ordering: .relaxed) { good(socket, port) }
        }
        let now = Mutex<UnixSeconds>(TripEstimate.now)
        let metrics = Metrics()
        let poller = AgencyPoller(
            urls: [server.url],
            clock: { now.withLock { $0 } },
            turn: { 3 },
            logger: .silent,
            metrics: metrics
        )
        func age() -> Substring? {
            metrics.rendered().split(separator: "\n").first {
                $0.hasPrefix("agency_feed_age_seconds{")
            }?.split(separator: " ").last
        }
        await poller.poll(0, in: 1)
        now.withLock { $0 += 3600 }
        #expect(age() == "3600.0")
        isAway.store(true, ordering: .relaxed)
        await poller.poll(0, in: 3)
        #expect(poller.feeds[0].lastError != "")
        now.withLock { $0 += 20 }
        #expect(age() == "20.0")
        await poller.poll(0, in: 3)
        #expect(age() == "20.0")
    }

    struct Attack: Sendable, CustomTestStringConvertible {
        let name: String
        let reason: String
        let behaviour: HostileServer.Behaviour
        var testDescription: String { name }

        init(_ name: String, _ reason: String, _ behaviour: @escaping HostileServer.Behaviour) {
            self.name = name
            self.reason = reason
            self.behaviour = behaviour
        }
    }

    /// 200 MB of zeros, some 200 kB packed.
    private static let bomb: [UInt8] = Gzip.compress([UInt8](repeating: 0, count: 200 << 20))

    /// A feed of so many vehicles.
    private static func crowd(_ count: Int) -> [UInt8] {
        let header = FeedMessage.sample([]).encoded()
        return header + repeated(Array(good.dropFirst(header.count)), count)
    }

    private static func repeated(_ piece: [UInt8], _ count: Int) -> [UInt8] {
        var bytes = piece
        // Appending one by one takes seconds where nothing is optimised.
        while bytes.count < piece.count * count { bytes += bytes }
        return Array(bytes.prefix(piece.count * count))
    }

    static let attacks = [
        Attack("cut off", "partial file") { socket, _ in
            HostileServer.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", good)
        },
        Attack("cut in the middle of an entity", "not a GTFS Realtime message") { socket, _ in
            HostileServer.answer("200 OK", "", Array(good.dropLast(3)))(socket, 0)
        },
        Attack("500 MB", "more than 33554432 bytes") { socket, _ in
            HostileServer.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 524288000\r\n\r\n")
            let piece = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<500 where !HostileServer.send(socket, "", piece) { return }
        },
        Attack("a gzip bomb", "more than 33554432 bytes") { socket, _ in
            HostileServer.answer("200 OK", "Content-Encoding: gzip\r\n", bomb)(socket, 0)
        },
        Attack("too many vehicles", "more than 20000 vehicles") { socket, _ in
            let crowd = crowd(AgencyPoller.feedLimits.vehicles + 1)
            HostileServer.answer("200 OK", "", crowd)(socket, 0)
        },
        Attack("too many entities", "more than 100000 entities") { socket, _ in
            let empty: [UInt8] = [0x12, 0x03, 0x0A, 0x01, 0x61]
            let many = repeated(empty, AgencyPoller.feedLimits.entities)
            HostileServer.answer("200 OK", "", good + many)(socket, 0)
        },
        Attack("too many stop times", "more than 1000000 stop times") { socket, _ in
            // entity { id "a" trip_update { stop_time_update { } ... } }, lengths in four bytes.
            func part(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
                let groups = (0..<4).map { UInt8(content.count >> (7 * $0) & 127) }
                return [tag] + groups.dropLast().map { $0 | 128 } + [groups[3]] + content
            }
            let times = repeated([0x12, 0x00], AgencyPoller.feedLimits.stopTimes + 1)
            let entity = part(0x12, [0x0A, 0x01, 0x61] + part(0x1A, times))
            HostileServer.answer("200 OK", "", good + entity)(socket, 0)
        },
        Attack("broken gzip", "Transfer-Encoding") { socket, _ in
            HostileServer.answer("200 OK", "Content-Encoding: gzip\r\n", good)(socket, 0)
        },
        Attack("a web page", "not a GTFS Realtime message") { socket, _ in
            let page = Array("<!doctype html><title>Log in</title>".utf8)
            HostileServer.answer("200 OK", "Content-Type: text/html\r\n", page)(socket, 0)
        },
        Attack("noise", "not a GTFS Realtime message") { socket, _ in
            var state: UInt32 = 7
            let noise = (0..<100_000).map { _ -> UInt8 in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(truncatingIfNeeded: state >> 24)
            }
            HostileServer.answer("200 OK", "", noise)(socket, 0)
        },
        Attack("nothing", "not a GTFS Realtime message") { socket, _ in
            HostileServer.answer("200 OK")(socket, 0)
        },
        Attack("a redirect to itself", "too many redirects") { socket, port in
            let place = "Location: http://127.0.0.1:\(port)/feed\r\n"
            HostileServer.answer("302 Found", place)(socket, port)
        },
        Attack("a redirect to a file", "not an http or https URL") { socket, _ in
            HostileServer.answer("302 Found", "Location: file:///etc/passwd\r\n")(socket, 0)
        },
        Attack("headers without end", "bytes of headers") { socket, _ in
            HostileServer.send(socket, "HTTP/1.1 200 OK\r\n")
            let line = "X-A: " + String(repeating: "a", count: 8000) + "\r\n"
            while HostileServer.send(socket, line) {}
        },
        Attack("no HTTP", "not an http") { socket, _ in
            HostileServer.send(socket, "SSH-2.0-OpenSSH\r\n")
        },
        Attack("closes at once", "returned nothing") { _, _ in },
    ]

    @Test(arguments: attacks)
    func `says what is wrong and keeps what it had`(attack: Attack) async throws {
        let first = Flag()
        let server = HostileServer { socket, port in
            if first.take() {
                HostileServer.answer("200 OK", "", Self.good)(socket, port)
            } else {
                attack.behaviour(socket, port)
            }
        }
        var limits = AgencyPoller.limits
        // A busy machine takes its time to inflate a bomb.
        limits.time = .seconds(100)
        let poller = poller([server.url], limits: limits)
        await poller.poll()
        try #require(poller.feeds[0].lastError == "")
        await poller.poll()
        let feed = poller.feeds[0]
        #expect(!feed.lastError.isEmpty)
        #expect(feed.lastError.contains(attack.reason), "\(feed.lastError)")
        #expect(feed.lastError.count <= 200)
        #expect(feed.reading.vehicles.count == 1)
        #expect(feed.lastSuccess == now)
    }

    @Test func `as many vehicles as are allowed are read`() async {
        let most = Self.crowd(AgencyPoller.feedLimits.vehicles)
        let server = HostileServer(HostileServer.answer("200 OK", "", most))
        let poller = poller([server.url])
        await poller.poll()
        #expect(poller.feeds[0].lastError == "")
        #expect(poller.feeds[0].reading.vehicles.count == 20_000)
    }

    @Test func `a slow drip ends with the limit`() async {
        let server = HostileServer { socket, _ in
            HostileServer.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            while HostileServer.send(socket, "", [0x0A]) { usleep(20_000) }
        }
        var limits = AgencyPoller.limits
        limits.time = .milliseconds(400)
        let poller = poller([server.url], limits: limits)
        await poller.poll()
        #expect(poller.feeds[0].lastError == "no answer in time")
    }

    @Test func `nobody there is an error like others`() async {
        let poller = poller(["http://127.0.0.1:1/feed", "ftp://a/b", "nonsense"])
        await poller.poll()
        #expect(poller.feeds.allSatisfy { !$0.lastError.isEmpty && $0.wasTried })
    }

    @Test func `bad texts and numbers reach nobody`() async throws {
        var entities = [
            FeedEntity.agency("1", trip: "T2"), .agency("2", trip: "T3", latitude: .nan),
        ]
        entities[0].vehicle?.position?.bearing = .nan
        entities[0].vehicle?.position?.speed = -.infinity
        var bytes = FeedMessage.sample(entities).encoded()
        // The text "e-1" becomes a NUL and a byte that is no UTF-8.
        let place = try #require(
            bytes.indices.first { Array(bytes[$0..<min($0 + 3, bytes.count)]) == Array("e-1".utf8) }
        )
        bytes[place] = 0
        bytes[place + 1] = 0xFF
        let poisoned = bytes
        let server = HostileServer(HostileServer.answer("200 OK", "", poisoned))
        let poller = poller([server.url])
        await poller.poll()
        #expect(poller.feeds[0].lastError == "")
        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        var assembly = FeedAssembly(rules)
        var known = FeedAssembly.Knowledge()
        known.agencies = poller.feeds
        known.schedule = Fixture.schedule
        let outcome = assembly.tick(
            known,
            stamp: BuilderStamp(instance: "f", epoch: 1),
            at: now
        )
        let build = try #require(outcome.positions)
        #expect(build.entities.map(\.entity.id) == ["1"])
        #expect(build.entities.first?.entity.vehicle?.position?.bearing == nil)
        #expect(build.entities.first?.entity.vehicle?.position?.speed == nil)
        #expect(outcome.withheld == ["E026": 1])
        #expect(outcome.mended == ["E027": 1, "A001": 1])
        let text = String(decoding: build.message.json(), as: UTF8.self)
        #expect(!text.contains("\0") && !text.contains("NaN"))
    }
}

/// True once.
private final class Flag: @unchecked Sendable {
    // Guarded by the lock.
    private var isTaken = false
    private let lock = NSLock()

    func take() -> Bool {
        lock.withLock {
            defer { isTaken = true }
            return !isTaken
        }
    }
}

extension AgencyPoller {
    /// Asks every feed once.
    func poll() async {
        await withTaskGroup(of: Void.self) { group in
            for index in feeds.indices { group.addTask { await self.poll(index, in: 1) } }
        }
    }
}

extension AgencyPoller {
    /// Whether every feed was asked.
    fileprivate var wasTried: Bool { feeds.allSatisfy(\.wasTried) }
}
