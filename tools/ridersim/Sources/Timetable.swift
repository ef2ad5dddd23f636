import Transit

extension Trip {
    /// Where the timetable has the vehicle, in metres along the shape; it waits at its stops.
    ///
    /// - Parameter offset: Seconds after the start of service.
    /// - Returns: The place; the first stop before the first departure, the last after the end.
    func scheduledAlong(at offset: Double) -> Double {
        guard let first = stopTimes.first, let last = stopTimes.last else { return 0 }
        if offset <= Double(first.departure) { return first.alongShape }
        if offset >= Double(last.arrival) { return last.alongShape }
        guard let index = stopTimes.firstIndex(where: { offset < Double($0.arrival) }), index > 0
        else {
            return last.alongShape
        }
        let from = stopTimes[index - 1]
        let to = stopTimes[index]
        let span = Double(to.arrival - from.departure)
        guard span > 0, offset > Double(from.departure) else { return from.alongShape }
        let share = (offset - Double(from.departure)) / span
        return from.alongShape + share * (to.alongShape - from.alongShape)
    }

    /// Whether the vehicle is under way, from its first departure to its last arrival.
    func isRunning(at offset: Int) -> Bool {
        guard let first = stopTimes.first, let last = stopTimes.last else { return false }
        return (first.departure...max(first.departure, last.arrival)).contains(offset)
    }
}
