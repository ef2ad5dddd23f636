internal import Glibc
internal import RealtimeFeed
internal import Transit
internal import Web

/// What it costs to make the feed of 10,000 vehicles, beside Python's gtfs-realtime-bindings.
///
/// The peer needs `.venv` (`scripts/bootstrap --tests`) and the repository as working folder. Both
/// sides build their values from the same ready-made texts and serialise them; five pairs take turns.
enum FeedBench {
    private static let vehicles = 10_000
    private static let pairs = 5

    static func run() {
        let names = (0..<vehicles).map(Names.init)
        _ = feed(names).encoded()
        var encode: [Double] = []
        var whole: [Double] = []
        var decode: [Double] = []
        var json: [Double] = []
        var checks: [Double] = []
        var packs: [Double] = []
        var ratios: [Double] = []
        var size = 0
        for _ in 0..<pairs {
            var message = FeedMessage(header: FeedHeader(timestamp: 0))
            let build = seconds { message = feed(names) }
            var bytes: [UInt8] = []
            encode.append(seconds { bytes = message.encoded() })
            whole.append(build + (encode.last ?? 0))
            size = bytes.count
            decode.append(seconds { _ = try? FeedMessage(decoding: bytes) })
            json.append(seconds { _ = message.json() })
            packs.append(seconds { _ = Gzip.compress(bytes) })
            checks.append(seconds { _ = message.complianceFindings(now: 1_771_257_600) })
            guard let peer = peer(), peer.size == size else { continue }
            ratios.append(peer.seconds / (whole.last ?? 1))
        }
        print("feed of \(vehicles) vehicles, \(size) bytes; CPU per entity, median of \(pairs)")
        print("  encode            \(perEntity(encode)) us   (bar: 1.0)")
        print("  build and encode  \(perEntity(whole)) us")
        print("  decode            \(perEntity(decode)) us")
        print("  json              \(perEntity(json)) us")
        print("  compliance        \(perEntity(checks)) us")
        print("  gzip              \(text(median(packs) * 1000)) ms in all   (bar: 25)")
        guard ratios.count == pairs else {
            print("  no peer: run scripts/bootstrap --tests, and this from the repository's root")
            return
        }
        print("  Python / ours, build and encode: \(text(median(ratios)))   (bar: 5)")
    }

    private struct Names {
        let vehicle, trip, route, stop: String

        init(_ index: Int) {
            vehicle = "vehicle-\(index)"
            trip = "trip-\(index)"
            route = "route-\(index % 200)"
            stop = "stop-\(index % 5000)"
        }
    }

    private static func feed(_ names: [Names]) -> FeedMessage {
        var entities: [FeedEntity] = []
        entities.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            let position = VehiclePosition(
                trip: TripDescriptor(
                    tripID: TripID(name.trip),
                    routeID: RouteID(name.route),
                    startDate: "20260216"
                ),
                vehicle: VehicleDescriptor(id: VehicleID(name.vehicle), label: "Rider-reported"),
                position: Position(
                    latitude: Float(47.6 + Double(index) * 1e-5),
                    longitude: Float(-122.3 - Double(index) * 1e-5),
                    bearing: Float(index % 360),
                    speed: 8.5
                ),
                currentStopSequence: UInt32(index % 60),
                stopID: StopID(name.stop),
                currentStatus: .inTransitTo,
                timestamp: 1_771_257_590
            )
            entities.append(FeedEntity(id: name.vehicle, vehicle: position))
        }
        return FeedMessage(header: FeedHeader(timestamp: 1_771_257_600), entities: entities)
    }

    /// CPU seconds and bytes of the same feed made by Python.
    private static func peer() -> (seconds: Double, size: Int)? {
        let command =
            ".venv/bin/python Tests/RealtimeFeedTests/oracle.py encode-time \(vehicles) 2>/dev/null"
        guard let pipe = popen(command, "r") else { return nil }
        defer { pclose(pipe) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, pipe) != nil else { return nil }
        let bytes = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard fields.count == 2, let seconds = Double(fields[0]), let size = Int(fields[1])
        else { return nil }
        return (seconds, size)
    }

    private static func seconds(_ work: () -> Void) -> Double {
        let start = cpu()
        work()
        return cpu() - start
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    private static func perEntity(_ values: [Double]) -> String {
        text(median(values) * 1e6 / Double(vehicles))
    }

    private static func text(_ value: Double) -> String {
        String((value * 100).rounded() / 100)
    }
}
