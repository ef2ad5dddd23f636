/// Where one live instance can be reached.
public struct InstanceRecord: Sendable, Hashable {
    /// The kind of service, such as `verifier`.
    public let service: String
    /// The name of the process, unique in the fleet.
    public let instance: String
    /// What requests connect to, `ipc://…` or `tcp://host:port`.
    public let requestEndpoint: String
    /// What subscribers connect to.
    public let publishEndpoint: String
    /// The process id on its machine; 0 when unknown.
    public let pid: Int32

    /// Makes a record from what an instance says about itself.
    public init(
        service: String,
        instance: String,
        requestEndpoint: String,
        publishEndpoint: String,
        pid: Int32 = 0
    ) {
        self.service = service
        self.instance = instance
        self.requestEndpoint = requestEndpoint
        self.publishEndpoint = publishEndpoint
        self.pid = pid
    }
}

/// Knows which instances live; asked once a second and after each change it reports.
///
/// While it fails, the bus keeps the instances it knows.
public protocol InstanceDirectory: Sendable {
    /// Says that this instance lives; called again and again as its heartbeat.
    ///
    /// - Parameter record: The instance and its addresses.
    /// - Throws: Anything; the bus logs the change to failing and goes on.
    func announce(_ record: InstanceRecord) async throws

    /// Says that this instance stops, before it refuses requests.
    ///
    /// - Parameter record: The instance as it was announced.
    /// - Throws: Anything; others then notice by the missing heartbeat.
    func withdraw(_ record: InstanceRecord) async throws

    /// The instances that live now, this one included or not.
    ///
    /// - Returns: One record for each instance.
    /// - Throws: Anything; the bus keeps what it knows.
    func instances() async throws -> [InstanceRecord]

    /// Hands over a callback for changes, so that they are seen before the next second.
    ///
    /// - Parameter changed: Cheap; may be called from any thread.
    func observe(_ changed: @escaping @Sendable () -> Void)
}

extension InstanceDirectory {
    /// A directory without news is polled only.
    public func observe(_ changed: @escaping @Sendable () -> Void) {}
}
