public import ServiceKit

/// Live positions over WebSocket: not built yet, and `/ready` says so.
public enum Relay {
    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: "relay",
        summary: "Live positions over WebSocket. Not built yet.",
        publicPort: 8106,
        internalPort: 9106,
        isBuilt: false,
        build: { _ in ServiceParts() }
    )
}
