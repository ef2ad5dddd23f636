import Messages
import Telemetry
import Testing
import Transit

@testable import FeedService

/// What an admin hears of verifiers, also of those that say nothing.
@Suite struct VerifierRollCallTests {
    private func status(_ instance: String) -> VerifierStatusReply {
        VerifierStatusReply(
            instance: instance,
            ownedSlots: 128,
            activeRides: 7,
            publishableTrips: 3,
            riders: 20,
            trustedRiders: 2,
            blockedRiders: 1
        )
    }

    @Test func `everyone is asked and the silent ones are named`() async {
        let good = status("v-1")
        let call = VerifierRollCall(
            living: { ["v-3", "v-1", "v-2", "v-4"] },
            ask: { body, instance, timeout, trace in
                #expect(timeout == .seconds(2))
                guard let request = try? RideRequest(decoding: body) else { return nil }
                switch instance {
                case "v-1": return RideReply(to: request, .status(good)).encoded()
                case "v-2": return RideReply(to: request, .refused(RideRefusal(.invalid))).encoded()
                case "v-3": return [0xFF]
                default: return nil
                }
            }
        )
        let answers = await call.call(at: 0, trace: .random())
        #expect(
            answers == [
                VerifierRollCall.Answer(instance: "v-1", status: good),
                VerifierRollCall.Answer(instance: "v-2", status: nil),
                VerifierRollCall.Answer(instance: "v-3", status: nil),
                VerifierRollCall.Answer(instance: "v-4", status: nil),
            ]
        )
    }
}
