internal import Bus
internal import Messages

/// Whether any other replica of the feed answers.
///
/// - Returns: nil where there is none.
func reachesReplicas(of instance: String, _ bus: Bus) async -> Bool? {
    let others = bus.instances(of: ServiceNames.feed).filter { $0 != instance }
    guard !others.isEmpty else { return nil }
    return await withTaskGroup(of: Bool.self) { group in
        for other in others {
            // Every feed answers what it does not understand, with nothing.
            group.addTask {
                (try? await bus.request([], to: other, timeout: .seconds(1))) != nil
            }
        }
        for await isAnswered in group where isAnswered {
            group.cancelAll()
            return true
        }
        return false
    }
}
