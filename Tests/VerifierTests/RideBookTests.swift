import Testing
import Transit
import Verification

@testable import VerifierService

/// What is in memory of the rides of owned slots.
@Suite struct RideBookTests {
    private let slot = Slot(of: TripID("T1"))
    private let elsewhere = Slot(of: TripID("T2"))

    private func ride(
        _ number: UInt64 = 1,
        startedAt: UnixSeconds = Course.start
    ) throws
        -> ActiveRide
    {
        let trip = try #require(try Course.index().trip("T1"))
        let session = Session(
            rideID: UniqueID(high: number, low: UInt64(slot.rawValue)),
            riderID: UniqueID(high: 9, low: number),
            journey: Journey(trip: trip, startDate: Course.monday, startOfService: 0),
            startedAt: startedAt
        )
        return ActiveRide(session: session, tier: .new, routeID: "R1")
    }

    private func ended(_ ride: ActiveRide) -> Session {
        var session = ride.session
        session.end(.stationary, at: Course.start + 60)
        return session
    }

    /// A book that owns the ride's slot, in which an end was decided and could not be stored.
    private func bookWithUnfiled(_ ride: ActiveRide) -> RideBook {
        let book = RideBook()
        book.acquire(slot, epoch: 1, rides: [ride])
        book.keepUnfiled(ended(ride))
        return book
    }

    @Test func `rides and slots are told in the same order whatever came first`() throws {
        let rides = try [(3, 5), (1, 7), (2, 5), (4, 0)].map {
            try ride(UInt64($0.0), startedAt: Course.start + $0.1)
        }
        for shift in 0..<rides.count {
            let book = RideBook()
            book.acquire(elsewhere, epoch: 1, rides: [])
            book.acquire(slot, epoch: 2, rides: Array(rides[shift...] + rides[..<shift]))
            #expect(book.rides(in: slot).map(\.rideID.high) == [4, 2, 3, 1])
            let told = book.slotsToPublish()
            #expect(told.map(\.slot) == [slot, elsewhere].sorted())
            let members = told.flatMap(\.members)
            #expect(members.map(\.session.rideID.high) == [4, 2, 3, 1])
        }
    }

    @Test func `an unfiled end survives two losses of the connection`() throws {
        let ride = try ride()
        let book = bookWithUnfiled(ride)
        book.releaseAll()
        // Another slot is taken, and that goes too before the ride's own comes back.
        book.acquire(elsewhere, epoch: 2, rides: [])
        book.releaseAll()
        book.acquire(slot, epoch: 3, rides: [ride])
        #expect(book.ride(ride.rideID)?.unfiled == ended(ride))
        #expect(book.unfiledRides(in: [slot]) == [ride.rideID])
        #expect(book.unfiledRides(in: [elsewhere]) == [])
    }

    @Test func `an unfiled end survives giving its slot back`() throws {
        let ride = try ride()
        let book = bookWithUnfiled(ride)
        book.release([slot])
        #expect(book.ride(ride.rideID) == nil)
        book.acquire(slot, epoch: 2, rides: [ride])
        #expect(book.ride(ride.rideID)?.unfiled == ended(ride))
    }

    @Test(arguments: [(0, true), (1, false)] as [(Int64, Bool)])
    func `an unfiled end is kept as long as its ride may last`(
        later: Int64,
        isKept: Bool
    ) throws {
        let ride = try ride()
        let book = bookWithUnfiled(ride)
        book.release([slot])
        book.forgetUnfiled(startedBefore: Course.start + later)
        book.acquire(slot, epoch: 2, rides: [ride])
        #expect((book.ride(ride.rideID)?.unfiled != nil) == isKept)
    }
}
