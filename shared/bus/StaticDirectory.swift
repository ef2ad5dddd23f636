/// Fixed instances from the environment; the services it names are not looked up elsewhere.
///
/// `BUS_PEERS` holds entries `service=instance@request|publish`, separated by commas:
/// `verifier=verifier-1@ipc:///run/a/verifier-1.req|ipc:///run/a/verifier-1.pub,auth=…`.
public struct StaticDirectory: InstanceDirectory {
    /// The fixed instances.
    public let records: [InstanceRecord]
    private let fallback: (any InstanceDirectory)?

    /// Makes a directory of fixed instances.
    ///
    /// - Parameters:
    ///   - records: The fixed instances; every other instance of their services is ignored.
    ///   - fallback: Where all other services are looked up and this instance is announced.
    public init(_ records: [InstanceRecord], over fallback: (any InstanceDirectory)? = nil) {
        self.records = records
        self.fallback = fallback
    }

    /// Reads the text of `BUS_PEERS`.
    ///
    /// - Parameters:
    ///   - text: Entries separated by commas; blanks around an entry are skipped.
    ///   - fallback: Where all other services are looked up.
    /// - Throws: ``BusError/configuration(_:)`` naming the entry and the fault.
    public init(
        parsing text: String,
        over fallback: (any InstanceDirectory)? = nil
    )
        throws(BusError)
    {
        var records: [InstanceRecord] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: true) {
            let entry = String(part.trimmingBlanks())
            guard !entry.isEmpty else { continue }
            let record = try Self.record(of: entry)
            guard !records.contains(where: { $0.instance == record.instance }) else {
                throw .configuration("BUS_PEERS names the instance \"\(record.instance)\" twice")
            }
            records.append(record)
        }
        self.init(records, over: fallback)
    }

    /// Announces to the directory behind, if there is one.
    ///
    /// - Parameter record: The instance and its addresses.
    /// - Throws: What the directory behind throws.
    public func announce(_ record: InstanceRecord) async throws {
        try await fallback?.announce(record)
    }

    /// Withdraws from the directory behind, if there is one.
    ///
    /// - Parameter record: The instance as it was announced.
    /// - Throws: What the directory behind throws.
    public func withdraw(_ record: InstanceRecord) async throws {
        try await fallback?.withdraw(record)
    }

    /// The fixed instances, and those of other services from the directory behind.
    ///
    /// - Returns: One record for each instance.
    /// - Throws: What the directory behind throws.
    public func instances() async throws -> [InstanceRecord] {
        guard let fallback else { return records }
        let fixedServices = Set(records.map(\.service))
        return try await records
            + fallback.instances().filter { !fixedServices.contains($0.service) }
    }

    /// Passes on the news of the directory behind.
    public func observe(_ changed: @escaping @Sendable () -> Void) { fallback?.observe(changed) }

    private static func record(of entry: String) throws(BusError) -> InstanceRecord {
        let fault = BusError.configuration(
            "BUS_PEERS entry \"\(entry)\" must be service=instance@request|publish"
        )
        let sides = entry.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2 else { throw fault }
        let names = sides[0].split(separator: "=", omittingEmptySubsequences: false)
        let addresses = sides[1].split(separator: "|", omittingEmptySubsequences: false)
        guard names.count == 2, addresses.count == 2 else { throw fault }
        for name in names where !Wire.isName(String(name)) { throw fault }
        for address in addresses
        where !address.hasPrefix("ipc:///") && !address.hasPrefix("tcp://") {
            throw .configuration(
                "BUS_PEERS entry \"\(entry)\": \"\(address)\" must begin with ipc:/// or tcp://"
            )
        }
        return InstanceRecord(
            service: String(names[0]),
            instance: String(names[1]),
            requestEndpoint: String(addresses[0]),
            publishEndpoint: String(addresses[1])
        )
    }
}

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        var rest = self
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
