import Testing

/// Tests of the whole product; one at a time, because each starts a database and six services.
@Suite(.serialized) enum EndToEnd {}
