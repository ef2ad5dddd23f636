import Testing

/// Drills over a fleet under load; one at a time, because each needs the machine for itself.
@Suite(.serialized) enum Drills {}
