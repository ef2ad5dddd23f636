public import ServiceKit

/// Friendships, groups, invitations and last fixes: not built yet, and `/ready` says so.
public enum Groups {
    /// The service as the executable runs it.
    public static let definition = ServiceDefinition(
        name: "groups",
        summary: "Friendships, groups, invitations and last fixes. Not built yet.",
        publicPort: 8105,
        internalPort: 9105,
        isBuilt: false,
        build: { _ in ServiceParts() }
    )
}
