internal import RealtimeFeed
internal import Transit

/// Gives agencies' vehicles ids that are unique in our feed.
///
/// An id that a driver's vehicle or an earlier feed's has, or that looks like a rider entity's, gets a
/// prefix with the feed's place in the configuration. Who had a prefix at the last look keeps it, so that a vehicle does not change its
/// name each time the other one comes and goes.
struct AgencyIdentities: Sendable {
    private struct Key: Hashable {
        let feed: Int
        let id: VehicleID
    }

    private var prefixed: Set<Key> = []

    /// Names every vehicle.
    ///
    /// - Parameters:
    ///   - vehicles: Their feeds and ids there; one of each.
    ///   - taken: The ids of drivers' vehicles.
    /// - Returns: An id for each, all different and none of them taken.
    mutating func names(
        of vehicles: [(feed: Int, id: VehicleID)],
        besides taken: Set<VehicleID>
    ) -> [VehicleID] {
        var owners: [VehicleID: Int] = [:]
        for vehicle in vehicles {
            owners[vehicle.id] = min(owners[vehicle.id] ?? vehicle.feed, vehicle.feed)
        }
        var still: Set<Key> = []
        var used = taken
        let names = vehicles.map { vehicle in
            let key = Key(feed: vehicle.feed, id: vehicle.id)
            var name = vehicle.id
            if prefixed.contains(key) || used.contains(name) || owners[name] != vehicle.feed
                || name.rawValue.hasPrefix(FeedEntity.riderIDPrefix)
            {
                still.insert(key)
                repeat {
                    name = VehicleID("agency\(vehicle.feed + 1):\(name.rawValue)")
                } while used.contains(name) || owners[name] != nil
            }
            used.insert(name)
            return name
        }
        prefixed = still
        return names
    }
}
