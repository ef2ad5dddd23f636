import Telemetry
import Transit

@testable import Messages

/// Random values from a seed, so that a failing case can be made again.
struct RandomValues: RandomNumberGenerator {
    private var state: UInt64

    init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    // SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func id() -> UniqueID { UniqueID(high: next(), low: next()) }
    mutating func trace() -> TraceID { TraceID(high: next(), low: next()) }
    mutating func bool() -> Bool { next() & 1 == 0 }
    mutating func time() -> UnixSeconds { UnixSeconds(bitPattern: next()) >> Int64(next() % 64) }
    mutating func count() -> Int { Int(UInt32(truncatingIfNeeded: next() >> (next() % 64))) }
    mutating func date() -> ServiceDate {
        ServiceDate(daysSince1970: .random(in: -719_162...2_932_896, using: &self))
    }
    mutating func number() -> Double {
        [0, -0.0, 1.5, -179.999, .infinity, .leastNonzeroMagnitude, 47.6].randomElement(
            using: &self
        )
            ?? 0
    }

    mutating func text() -> String {
        let pieces = [
            "", "a", "é", "e\u{301}", "\0", "🚌", "1_604321", "a/b c", "\"\\\n", "\u{FFFD}",
        ]
        let count = next() % 8 == 0 ? 200 : Int(next() % 4)
        return (0..<count).map { _ in pieces.randomElement(using: &self) ?? "" }.joined()
    }

    mutating func maybe<T>(_ make: (inout RandomValues) -> T) -> T? {
        bool() ? make(&self) : nil
    }

    mutating func list<T>(_ make: (inout RandomValues) -> T) -> [T] {
        (0..<(next() % 16)).map { _ in make(&self) }
    }

    mutating func request() -> RideRequest {
        RideRequest(requestID: id(), trace: trace(), body: requestBody())
    }

    private mutating func requestBody() -> RideRequest.Body {
        switch next() % 10 {
        case 0:
            .start(
                StartRide(
                    rideID: id(),
                    riderID: id(),
                    tripID: TripID(text()),
                    startDate: maybe { $0.date() },
                    routeID: maybe { RouteID($0.text()) },
                    vehicleID: text(),
                    boardingStopID: text(),
                    destinationStopID: text(),
                    receivedAt: time(),
                    installation: maybe {
                        RiderInstallation(
                            addressBlock: $0.maybe { $0.next() },
                            installedAt: $0.time(),
                            build: $0.next()
                        )
                    }
                )
            )
        case 1:
            .positions(
                ReportPositions(
                    rideID: id(),
                    riderID: id(),
                    points: list { $0.point() },
                    receivedAt: time()
                )
            )
        case 2: .end(EndRide(rideID: id(), riderID: id(), reason: text(), receivedAt: time()))
        case 3:
            .tripStatus(
                TripStatusQuery(
                    tripID: TripID(text()),
                    startDate: maybe { $0.date() },
                    receivedAt: time()
                )
            )
        case 4: .supersede(SupersedeRide(rideID: id(), riderID: id(), receivedAt: time()))
        case 5:
            .rides(
                RideListQuery(status: bool() ? .active : .ended, limit: count(), offset: count())
            )
        case 6: .status(VerifierStatusQuery(receivedAt: time()))
        case 7:
            .eraseRider(
                EraseRider(
                    riderID: id(),
                    receivedAt: time(),
                    successorID: maybe { $0.id() },
                    forgottenUntil: time(),
                    isForwarded: bool()
                )
            )
        case 8: .ride(RideDetailQuery(rideID: id()))
        default: .exportRider(ExportRider(riderID: id(), receivedAt: time(), page: count()))
        }
    }

    private mutating func point() -> ReportedPoint {
        ReportedPoint(
            latitude: number(),
            longitude: number(),
            accuracy: maybe { $0.number() },
            speed: maybe { $0.number() },
            bearing: maybe { $0.number() },
            timestamp: time()
        )
    }

    mutating func reply() -> RideReply {
        RideReply(requestID: id(), trace: trace(), body: replyBody())
    }

    private mutating func replyBody() -> RideReply.Body {
        switch next() % 12 {
        case 0:
            .started(
                RideStarted(
                    state: text(),
                    startDate: date(),
                    routeID: RouteID(text()),
                    destination: maybe {
                        .init(
                            stopID: StopID($0.text()),
                            latitude: $0.number(),
                            longitude: $0.number()
                        )
                    }
                )
            )
        case 1:
            .accepted(
                BatchAccepted(
                    state: text(),
                    published: bool(),
                    corroboration: text(),
                    accepted: count(),
                    ignored: count(),
                    offRouteStreak: count(),
                    ended: bool(),
                    endReason: text()
                )
            )
        case 2:
            .ended(
                RideEnded(
                    points: count(),
                    matched: count(),
                    corroborated: count(),
                    durationSeconds: count()
                )
            )
        case 3:
            .tripStatus(
                TripStatusReply(
                    tripID: TripID(text()),
                    startDate: date(),
                    trusted: bool(),
                    riderReported: bool(),
                    riders: count()
                )
            )
        case 4: .rides(RideListReply(rides: list { $0.entry() }, hasMore: bool()))
        case 5: .status(status())
        case 6: .erased
        case 7: .exported(list { UInt8(truncatingIfNeeded: $0.next()) })
        case 8: .conflict(rideID: id())
        case 9: .erasedButBlocked
        case 10: .ride(detail())
        default:
            .refused(
                RideRefusal(
                    RideRefusal.Code.allCases.randomElement(using: &self) ?? .failed,
                    endReason: text(),
                    owner: text(),
                    retryAfterSeconds: count()
                )
            )
        }
    }

    private mutating func entry() -> RideListEntry {
        RideListEntry(
            rideID: id(),
            riderID: id(),
            trip: TripInstance(tripID: TripID(text()), startDate: date()),
            routeID: RouteID(text()),
            state: text(),
            corroborated: bool(),
            endReason: text(),
            points: count(),
            matchedPoints: count(),
            corroboratedPoints: count(),
            startedAt: time(),
            endedAt: maybe { $0.time() }
        )
    }

    private mutating func detail() -> RideDetailReply {
        RideDetailReply(
            ride: entry(),
            vehicleID: text(),
            boardingStopID: text(),
            destinationStopID: text(),
            changes: list { RideStateChange(state: $0.text(), at: $0.time()) },
            points: list {
                ExplainedPoint(
                    point: $0.point(),
                    outcome: $0.text(),
                    corroboration: $0.text(),
                    rule: $0.maybe { $0.text() },
                    measured: $0.maybe { $0.number() },
                    threshold: $0.maybe { $0.number() },
                    unit: $0.maybe { $0.text() },
                    explanation: $0.text(),
                    alongShape: $0.maybe { $0.number() },
                    distanceToShape: $0.maybe { $0.number() },
                    scheduleDeviationSeconds: $0.maybe { $0.count() - 1000 },
                    receivedAt: $0.time()
                )
            }
        )
    }

    private mutating func status() -> VerifierStatusReply {
        VerifierStatusReply(
            instance: text(),
            schedule: maybe {
                .init(
                    source: $0.text(),
                    contentHash: $0.text(),
                    loadedAt: $0.time(),
                    trips: $0.count(),
                    shapes: $0.count(),
                    timeZone: $0.text()
                )
            },
            ownedSlots: count(),
            activeRides: count(),
            publishableTrips: count(),
            riders: count(),
            trustedRiders: count(),
            blockedRiders: count()
        )
    }

    mutating func slotTable() -> SlotTable {
        SlotTable(
            trace: trace(),
            instance: text(),
            sequence: next(),
            slots: list {
                .init(slot: Slot(UInt8(truncatingIfNeeded: $0.next())), epoch: $0.next())
            }
        )
    }

    mutating func estimates() -> Estimates {
        Estimates(
            trace: trace(),
            instance: text(),
            slot: Slot(UInt8(truncatingIfNeeded: next())),
            epoch: next(),
            sequence: next(),
            createdAt: time(),
            estimates: list {
                TripEstimate(
                    trip: TripInstance(tripID: TripID($0.text()), startDate: $0.date()),
                    routeID: RouteID($0.text()),
                    latitude: $0.number(),
                    longitude: $0.number(),
                    bearing: $0.number(),
                    speed: $0.maybe { $0.number() },
                    timestamp: $0.time(),
                    stopID: $0.maybe { StopID($0.text()) },
                    stopSequence: $0.maybe { $0.count() },
                    riders: $0.count(),
                    alongShape: $0.number(),
                    delaySeconds: $0.maybe { $0.count() % 100_000 - 50_000 }
                )
            }
        )
    }

    mutating func trusted() -> TrustedVehicles {
        TrustedVehicles(
            trace: trace(),
            instance: text(),
            epoch: next(),
            sequence: next(),
            createdAt: time(),
            configured: bool(),
            complete: bool(),
            vehicles: list {
                TrustedVehicle(
                    tripID: TripID($0.text()),
                    startDate: $0.maybe { $0.date() },
                    vehicleID: VehicleID($0.text()),
                    latitude: $0.maybe { $0.number() },
                    longitude: $0.maybe { $0.number() },
                    timestamp: $0.time(),
                    source: $0.bool() ? .agency : .driver,
                    feed: $0.maybe { $0.count() }
                )
            }
        )
    }

    mutating func agencyFeeds() -> AgencyFeeds {
        AgencyFeeds(
            trace: trace(),
            instance: text(),
            epoch: next(),
            sequence: next(),
            feeds: list {
                .init(
                    url: $0.text(),
                    lastSuccess: $0.maybe { $0.time() },
                    lastError: $0.text(),
                    entities: $0.count()
                )
            }
        )
    }

    mutating func builtFeed() -> BuiltFeed {
        BuiltFeed(
            trace: trace(),
            instance: text(),
            epoch: next(),
            tick: next(),
            headerTimestamp: time(),
            variants: list { random in
                .init(
                    kind: random.text(),
                    feed: random.maybe { $0.count() },
                    bytes: random.list { UInt8(truncatingIfNeeded: $0.next()) }
                )
            }
        )
    }

    mutating func announcement() -> ScheduleAnnouncement {
        ScheduleAnnouncement(
            trace: trace(),
            instance: text(),
            epoch: next(),
            contentHash: [1, 0, 255],
            source: text(),
            activatedAt: time(),
            archiveBytes: count()
        )
    }

    mutating func revocations() -> Revocations {
        Revocations(
            trace: trace(),
            sequence: next(),
            entries: list {
                .init(
                    target: $0.bool() ? .token($0.text()) : .subject($0.text()),
                    revokedAt: $0.time(),
                    expiresAt: $0.time()
                )
            }
        )
    }

    mutating func accountQuery() -> AccountQuery {
        AccountQuery(
            trace: trace(),
            body: bool() ? .handle(text()) : .ids(list { $0.id() })
        )
    }

    mutating func accountAnswer() -> AccountAnswer {
        let accounts = list {
            AccountAnswer.Account(id: $0.id(), handle: $0.maybe { $0.text() }, name: $0.text())
        }
        return AccountAnswer(
            trace: trace(),
            body: bool() ? .accounts(accounts) : .unavailable
        )
    }

    mutating func accountData() -> AccountDataAnswer {
        AccountDataAnswer(
            trace: trace(),
            body: bool()
                ? .part(Array(text().utf8), next: maybe { $0.text() }) : .unavailable
        )
    }

    /// One message of each kind.
    mutating func everyMessage() -> [any WireMessage] {
        [
            request(), reply(), slotTable(), estimates(), trusted(), builtFeed(), announcement(),
            revocations(), accountQuery(), accountAnswer(),
            EraseAccount(trace: trace(), accountID: id(), receivedAt: time()),
            EraseAccountAnswer(trace: trace(), isClean: bool()),
            AccountDataQuery(trace: trace(), accountID: id(), cursor: text()), accountData(),
            agencyFeeds(),
        ] + groupMessages()
    }
}
