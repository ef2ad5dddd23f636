internal import Bus
internal import Messages
internal import ServiceKit

/// The registry of everybody who stores something about people or riders, apart from auth itself.
enum ErasureOwners {
    /// How long an owner may take to forget an account.
    static let timeout = Duration.seconds(3)

    /// Every owner.
    ///
    /// Another service that stores something about accounts joins with a line
    /// `.service(ServiceNames.…, bus)` and answers `EraseAccount`.
    static func all(_ bus: Bus, _ verifiers: VerifierQuestions) -> [ErasureOwner] {
        [
            .verifier(verifiers), .service(ServiceNames.groups, bus),
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

    /// A service whose every instance can forget an account.
    static func service(_ name: String, _ bus: Bus) -> ErasureOwner {
        ErasureOwner(name: name, kinds: [.account]) { erasure in
            let request = EraseAccount(
                accountID: erasure.subject,
                receivedAt: erasure.requestedAt
            )
            guard let instance = bus.instances(of: name).randomElement(),
                let bytes = try? await bus.request(
                    request.encoded(),
                    to: instance,
                    timeout: ErasureOwners.timeout,
                    trace: request.trace
                ),
                let answer = try? EraseAccountAnswer(decoding: bytes), answer.isClean
            else { return .notYet }
            return .clean
        }
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
