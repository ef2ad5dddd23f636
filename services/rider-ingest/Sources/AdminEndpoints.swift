internal import Messages
internal import Telemetry
internal import Transit
internal import Web

/// What operators see of riders: status, rides, and why a ride was judged as it was (seed 4.10).
struct AdminEndpoints: Sendable {
    /// Who answers; nil while rider mode is off.
    let verifiers: VerifierClient?
    let agencies: AgencyBoard
    /// The application clock.
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, for administrators alone; they are there also while rider mode is off.
    var all: [Endpoint] {
        [
            Endpoint(
                .get,
                "/api/v1/admin/rider/status",
                access: .roles([.admin]),
                handler: status
            ),
            Endpoint(
                .get,
                "/api/v1/admin/rider/rides",
                access: .roles([.admin]),
                handler: rides
            ),
            Endpoint(
                .get,
                "/api/v1/admin/rider/rides/{id}",
                access: .roles([.admin]),
                handler: ride
            ),
        ]
    }

    // MARK: - Status

    private func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let verifiers else { return .json(bytes: Array("{\"enabled\":false}".utf8)) }
        let query = VerifierStatusQuery(receivedAt: now())
        let answers = await verifiers.askAll(.status(query), trace: request.trace)
        let fleet = FleetStatus(answers)
        guard !fleet.verifiers.isEmpty else { throw RideRefusal.away.httpError }
        return .json(bytes: fleet.json(agencies: agencies.feeds))
    }

    // MARK: - Rides

    private func rides(_ request: HTTPRequest) async throws -> HTTPResponse {
        let query = try RideListQuery(request.query)
        guard let verifiers else { return RideListReply(rides: [], hasMore: false).response }
        switch await verifiers.askAny(.rides(query), trace: request.trace) {
        case .rides(let page): return page.response
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }

    private func ride(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let verifiers, let id = UniqueID(request.parameter("id")) else {
            throw HTTPError.rideNotFound
        }
        let query = RideDetailQuery(rideID: id)
        switch await verifiers.askAny(.ride(query), trace: request.trace) {
        case .ride(let detail): return detail.response
        case .refused(let refusal): throw refusal.httpError
        default: throw HTTPError.failure
        }
    }
}

extension RideListQuery {
    /// Rides of a page when the caller says nothing (spec 2.12).
    static let defaultLimit = 50
    /// The most rides of a page.
    static let limits = 1...200
    /// How many of the newest rides can be passed over.
    static let offsets = 0...Int(Int32.max)

    /// Reads the query of the list (spec 2.12).
    fileprivate init(_ query: QueryItems) throws(HTTPError) {
        let name = query.first("status") ?? ""
        guard let status = name.isEmpty ? .active : Status(rawValue: name) else {
            throw .badRequest(
                "status must be \"active\" or \"ended\"",
                code: "status.invalid"
            )
        }
        self.init(
            status: status,
            limit: try query.number("limit", in: Self.limits, default: Self.defaultLimit),
            offset: try query.number("offset", in: Self.offsets, default: 0)
        )
    }
}

extension QueryItems {
    /// Reads a whole number of decimal digits.
    fileprivate func number(
        _ name: String,
        in range: ClosedRange<Int>,
        default fallback: Int
    ) throws(HTTPError) -> Int {
        guard let text = first(name) else { return fallback }
        let isDigits = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isDigits, let number = Int(text), range.contains(number) else {
            throw .badRequest(
                "\(name) must be between \(range.lowerBound) and \(range.upperBound)",
                code: "\(name).invalid"
            )
        }
        return number
    }
}
