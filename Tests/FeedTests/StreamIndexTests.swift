import Messages
import RealtimeFeed
import Telemetry
import Testing
import Transit

@testable import FeedService

/// A narrow filter looks at few places, and misses none.
@Suite struct StreamIndexTests {
    private func entity(
        _ number: Int,
        _ random: inout SystemRandomNumberGenerator
    ) -> StreamEntity {
        var trip = TripDescriptor()
        if Bool.random(using: &random) { trip.tripID = TripID("T\(Int.random(in: 0..<40))") }
        if Bool.random(using: &random) { trip.routeID = RouteID("R\(Int.random(in: 0..<6))") }
        var position: Position?
        switch Int.random(in: 0..<10) {
        case 0: position = nil
        case 1: position = Position(latitude: .nan, longitude: .infinity)
        // On the edges of cells, of boxes and of the earth.
        case 2:
            position = Position(
                latitude: [-90, 0, 47.5, 90].randomElement() ?? 0,
                longitude: [-180, -122.5, 0, 180].randomElement() ?? 0
            )
        default:
            position = Position(
                latitude: Float.random(in: 47...49, using: &random),
                longitude: Float.random(in: -124 ... -122, using: &random)
            )
        }
        return StreamEntity(
            FeedEntity(
                id: "\(number)",
                vehicle: VehiclePosition(trip: trip, position: position)
            ),
            source: .agency
        )
    }

    private static var filters: [StreamFilter] {
        var filters: [StreamFilter] = []
        for (trip, route, box) in [
            ("T1", nil, nil), ("nope", nil, nil), (nil, "R2", nil), (nil, "nope", nil),
            ("T1", "R2", nil), (nil, "R2", (-123.0, -122.5, 47.0, 48.0)),
            (nil, nil, (-123.0, -122.9, 47.5, 47.6)), (nil, nil, (-180.0, 180.0, -90.0, 90.0)),
            (nil, nil, (0.0, 1.0, 0.0, 1.0)), (nil, nil, (-180.0, -180.0, -90.0, -90.0)),
            (nil, nil, (180.0, 180.0, 90.0, 90.0)), (nil, nil, (-122.5, -122.5, 47.5, 47.5)),
        ] as [(String?, String?, (Double, Double, Double, Double)?)] {
            var filter = StreamFilter()
            filter.tripID = trip.map { TripID($0) }
            filter.routeID = route.map { RouteID($0) }
            filter.box = box.map { .init(longitudes: $0.0...$0.1, latitudes: $0.2...$0.3) }
            filters.append(filter)
        }
        return filters
    }

    @Test func `what a filter admits is at a place that it looks at`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10 {
            let list = (0..<400).map { number in
                // Of a change both halves count.
                (
                    Bool.random() ? entity(number, &random) : nil,
                    Bool.random() ? entity(number, &random) : nil
                )
            }
            let index = StreamIndex(list.count) { list[$0] }
            for filter in Self.filters {
                let wanted = list.indices.filter { place in
                    list[place].0.map(filter.admits) ?? false
                        || list[place].1.map(filter.admits) ?? false
                }
                guard let places = index.places(for: filter)?.map(Int.init) else {
                    #expect(wanted.count > 10, "all are looked at for few")
                    continue
                }
                #expect(places == places.sorted() && Set(places).count == places.count)
                #expect(Set(places).isSuperset(of: wanted))
            }
        }
    }

    @Test func `a reader of a trip looks at that trip alone`() {
        var random = SystemRandomNumberGenerator()
        let list = (0..<4000).map { entity($0, &random) }
        let index = StreamIndex(list.count) { (list[$0], nil) }
        var filter = StreamFilter()
        filter.tripID = TripID("nope")
        #expect(index.places(for: filter) == [])
        filter.tripID = TripID("T7")
        #expect((index.places(for: filter) ?? []).allSatisfy { list[Int($0)].tripID == "T7" })
        filter.tripID = nil
        filter.box = .init(longitudes: 0.2...0.3, latitudes: 0.2...0.3)
        #expect(index.places(for: filter) == [])
    }

    @Test(arguments: [1, 200, 100_000])
    func `in pieces of any size a narrow reader is told all that is for it`(size: Int) {
        let publisher = FeedPublisher(FeedPublisher.Sources(), metrics: Metrics())
        let estimates = (0..<300).map { number in
            TripEstimate.sample(TripID("T\(number)"), latitude: 47 + Double(number) / 100)
        }
        publisher.heard(Estimates.sample(estimates).encoded())
        publisher.tick(at: TripEstimate.now)
        let tick = StreamTick(publisher.published, number: 1, after: nil)
        #expect(tick.entities.count == 300)
        for filter in Self.filters + [StreamFilter()]
            + (0..<20).map({ number in
                var filter = StreamFilter()
                let south = 47 + Double(number) / 7
                filter.box = .init(longitudes: -180...180, latitudes: south...(south + 0.2))
                return filter
            })
        {
            let wanted = tick.entities.filter(filter.admits).map(\.id)
            for isSnapshot in [true, false] {
                var telling = StreamTelling(of: tick, isSnapshot: isSnapshot)
                var bytes: [UInt8] = []
                while !telling.isEnded { bytes += telling.next(size, of: tick, for: filter) }
                let text = String(decoding: bytes, as: UTF8.self)
                let told = tick.entities.map(\.id).filter { text.contains("\"id\":\"\($0)\",") }
                #expect(told == wanted)
            }
        }
    }
}
