import Testing

/// Tests of the whole product, in two lanes that run beside each other: each test starts a database
/// and six services and waits most of its time, so that two fit on two cores and more do not.
enum EndToEnd {
    /// Riders, and what happens to their rides when parts die.
    @Suite(.serialized) enum Rides {}
    /// People, operators and feeds.
    @Suite(.serialized) enum People {}
}
