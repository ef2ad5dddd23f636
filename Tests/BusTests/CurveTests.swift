import Telemetry
import Testing

@testable import Bus

@Suite(.timeLimit(.minutes(1)))
struct CurveTests {
    enum Client: CaseIterable {
        case fleetKey
        case ownKey
        case ownKeyAndWrongServer
        case plain
    }

    @Test(arguments: Client.allCases)
    func `lets in over tcp only who holds the fleet's key`(client: Client) async throws {
        let fleet = try Fleet(.tcp)
        let metrics = Metrics()
        let bus = try await fleet.bus(metrics: metrics, serving: { $0.body })
        let endpoint = try #require(bus.record?.requestEndpoint)
        let stranger = try CurveKeys.generate()
        let raw =
            switch client {
            case .fleetKey:
                try RawClient(endpoint, server: fleet.keys.publicKey, own: fleet.keys)
            case .ownKey: try RawClient(endpoint, server: fleet.keys.publicKey, own: stranger)
            case .ownKeyAndWrongServer:
                try RawClient(endpoint, server: stranger.publicKey, own: stranger)
            case .plain: try RawClient(endpoint)
            }
        raw.send(.test(target: "tester"), "hello")
        let answer = try await raw.answerOrRefusal()
        #expect((answer != nil) == (client == .fleetKey))
        #expect(metrics.value("bus_requests_received_total") == (client == .fleetKey ? 1 : 0))
        if client == .ownKey {
            #expect(metrics.value("bus_connections_refused_total") >= 1)
        }
        await bus.shutdown()
    }

    @Test func `checks a key pair`() throws {
        let keys = try CurveKeys.generate()
        let other = try CurveKeys.generate()
        #expect(try CurveKeys(publicKey: keys.publicKey, secretKey: keys.secretKey) == keys)
        #expect(!"\(keys)".contains(keys.secretKey))
        for (publicKey, secretKey) in [
            (other.publicKey, keys.secretKey), ("", keys.secretKey), (keys.publicKey, "short"),
            (String(keys.publicKey.dropLast()), keys.secretKey),
            (keys.publicKey, keys.secretKey + "a"),
        ] {
            #expect(throws: BusError.self) {
                try CurveKeys(publicKey: publicKey, secretKey: secretKey)
            }
        }
    }
}
