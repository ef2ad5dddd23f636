internal import Bus
internal import Messages
internal import ServiceKit
internal import Telemetry

/// The registry of everybody who stores something about people or riders, apart from auth itself.
enum ErasureOwners {
    /// How long an owner may take to forget an account, or to read a part of what it stores.
    static let timeout = Duration.seconds(3)

    /// Every owner.
    ///
    /// Another service that stores something about accounts joins with a line
    /// `.service(ServiceNames.…, bus)` and answers `EraseAccount` and `AccountDataQuery`.
    static func all(_ bus: Bus, _ verifiers: VerifierQuestions) -> [ErasureOwner] {
        [
            .verifier(verifiers), .service(ServiceNames.groups, bus),
            .service(ServiceNames.feed, bus),
        ]
    }
}

extension ErasureOwner {
    /// Rides, points and standing of riders.
    static func verifier(_ verifiers: VerifierQuestions) -> ErasureOwner {
        ErasureOwner(name: ServiceNames.verifier, kinds: [.rider]) { erasure in
            let request = EraseRider(
                riderID: erasure.subject,
                receivedAt: erasure.requestedAt,
                successorID: erasure.successor,
                forgottenUntil: erasure.forgottenUntil
            )
            switch await verifiers.answer(to: .eraseRider(request)) {
            case .erased: return .clean
            case .erasedButBlocked: return .cleanButBlocked
            default: return .notYet
            }
        }
    }

    /// A service whose every instance can forget an account and read what is stored about it.
    static func service(_ name: String, _ bus: Bus) -> ErasureOwner {
        var owner = ErasureOwner(name: name, kinds: [.account]) { erasure in
            let request = EraseAccount(
                accountID: erasure.subject,
                receivedAt: erasure.requestedAt
            )
            let bytes = await ask(name, bus, request.encoded(), request.trace)
            guard let bytes, let answer = try? EraseAccountAnswer(decoding: bytes), answer.isClean
            else { return .notYet }
            return .clean
        }
        owner.export = { account in
            var json: [UInt8] = []
            var cursor: String? = ""
            while let place = cursor {
                let query = AccountDataQuery(accountID: account, cursor: place)
                let bytes = await ask(name, bus, query.encoded(), query.trace)
                guard let bytes, let answer = try? AccountDataAnswer(decoding: bytes),
                    case .part(let part, let next) = answer.body
                else { return nil }
                json += part
                cursor = next
            }
            return json
        }
        return owner
    }

    private static func ask(
        _ service: String,
        _ bus: Bus,
        _ body: [UInt8],
        _ trace: TraceID
    ) async -> [UInt8]? {
        guard let instance = bus.instances(of: service).randomElement() else { return nil }
        return try? await bus.request(
            body,
            to: instance,
            timeout: ErasureOwners.timeout,
            trace: trace
        )
    }
}

extension Erasure {
    /// Seconds in which a blocked installation that comes back under the same id cannot ride: longer
    /// than a request of before may be under way.
    private static let returnPause: Int64 = 60

    /// Until when the verifier refuses rides of the subject.
    ///
    /// As long as a token can be valid; but the successor of a blocked installation lives on under
    /// the same id.
    var forgottenUntil: Int64 {
        subject == successor ? requestedAt + Self.returnPause : tokensUntil
    }
}
