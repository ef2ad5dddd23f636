import Bus
import Foundation
import Messages
import Synchronization
import Telemetry
import TestKit
import Transit

@testable import GroupsService

/// Knows the instances of one test; each change is news at once.
private final class TestDirectory: InstanceDirectory {
    private let state = Mutex<(records: [InstanceRecord], observers: [@Sendable () -> Void])>(
        ([], [])
    )

    func announce(_ record: InstanceRecord) async throws {
        let news = state.withLock { state in
            guard !state.records.contains(record) else { return [@Sendable () -> Void]() }
            state.records.append(record)
            return state.observers
        }
        for observer in news { observer() }
    }

    func withdraw(_ record: InstanceRecord) async throws {
        let observers = state.withLock { state in
            state.records.removeAll { $0 == record }
            return state.observers
        }
        for observer in observers { observer() }
    }

    func instances() async throws -> [InstanceRecord] { state.withLock { $0.records } }

    func observe(_ changed: @escaping @Sendable () -> Void) {
        state.withLock { $0.observers.append(changed) }
    }
}

/// A groups process on a real bus, with relays that stand in for those to come.
struct SmallFleet: Sendable {
    let world: GroupsWorld
    let relays: [StandInRelay]

    /// Makes a fleet, and ends it after `body`.
    static func with(
        relays names: String...,
        body: (SmallFleet) async throws -> Void
    ) async throws {
        let folder = "/tmp/groups-bus-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let directory = TestDirectory()
        func bus(_ service: String, _ instance: String) throws -> Bus {
            try Bus(
                BusConfiguration(
                    service: service,
                    instance: instance,
                    urlPrefix: "ipc://\(folder)/"
                ),
                directory: directory,
                logger: .silent,
                metrics: Metrics()
            )
        }
        let groups = try bus(ServiceNames.groups, "groups-1")
        let relays = try names.map { StandInRelay(try bus(ServiceNames.relay, $0)) }
        try await GroupsWorld.with(transport: LiveNews.Transport(groups)) { world in
            let desk = world.process.desk
            groups.serve { request in await desk.answer(request.body, trace: request.trace) }
            try groups.start()
            for relay in relays { try relay.start() }
            let outcome: Result<Void, any Error>
            do {
                try await eventually("everyone knows everyone") {
                    groups.instances(of: ServiceNames.relay).count == names.count
                        && relays.allSatisfy { $0.knowsGroups }
                }
                outcome = .success(try await body(SmallFleet(world: world, relays: relays)))
            } catch {
                outcome = .failure(error)
            }
            for relay in relays { await relay.stop() }
            await groups.shutdown()
            try outcome.get()
        }
    }
}

/// A relay without sockets: it holds views, lets go when it is told to, and looks for what it missed.
final class StandInRelay: Sendable {
    private struct State {
        var views: [UniqueID: GroupView] = [:]
        var changes: [GroupChange] = []
        var withdrawals: [Withdrawal] = []
        var fixes: [LiveFix] = []
        var events: [PlaceEventNotice] = []
        var isSilent = false
    }

    private let bus: Bus
    private let state = Mutex(State())

    fileprivate init(_ bus: Bus) { self.bus = bus }

    var views: [UniqueID: GroupView] { state.withLock { $0.views } }
    var changes: [GroupChange] { state.withLock { $0.changes } }
    var withdrawals: [Withdrawal] { state.withLock { $0.withdrawals } }
    var fixes: [LiveFix] { state.withLock { $0.fixes } }
    var events: [PlaceEventNotice] { state.withLock { $0.events } }

    /// Lets requests wait for ever, as a frozen process does.
    func setSilent(_ isSilent: Bool) { state.withLock { $0.isSilent = isSilent } }

    fileprivate var knowsGroups: Bool { !bus.instances(of: ServiceNames.groups).isEmpty }

    fileprivate func start() throws {
        bus.serve { request in await self.answer(request) }
        bus.subscribe(topic: BusTopics.groupChanges, of: ServiceNames.groups) { publication in
            guard let change = try? GroupChange(decoding: publication.body) else { return }
            self.state.withLock { $0.changes.append(change) }
        }
        bus.subscribe(topic: BusTopics.liveFixes, of: ServiceNames.groups) { publication in
            guard let fix = try? LiveFix(decoding: publication.body) else { return }
            self.state.withLock { $0.fixes.append(fix) }
        }
        bus.subscribe(topic: BusTopics.placeEvents, of: ServiceNames.groups) { publication in
            guard let event = try? PlaceEventNotice(decoding: publication.body) else { return }
            self.state.withLock { $0.events.append(event) }
        }
        try bus.start()
    }

    fileprivate func stop() async { await bus.shutdown() }

    private func answer(_ request: BusRequest) async -> [UInt8] {
        guard let question = try? RelayRequest(decoding: request.body),
            case .takeAway(let withdrawals) = question.body
        else { return [] }
        if state.withLock({ $0.isSilent }) {
            try? await Task.sleep(until: request.deadline + .seconds(1))
            return []
        }
        state.withLock { state in
            state.withdrawals += withdrawals
            for withdrawal in withdrawals {
                state.views[withdrawal.groupID]?.members.removeAll {
                    $0.accountID == withdrawal.accountID
                }
            }
        }
        return RelayReply(to: question, .takenAway).encoded()
    }

    // MARK: - What a relay asks

    /// Asks groups.
    func ask(_ body: GroupsRequest.Body) async throws -> GroupsReply.Body {
        let request = GroupsRequest(body: body)
        let bytes = try await bus.request(
            request.encoded(),
            to: "groups-1",
            timeout: .seconds(5)
        )
        let reply = try GroupsReply(decoding: bytes)
        guard reply.requestID == request.requestID else { return .refused(.failed) }
        return reply.body
    }

    /// Fetches the views of everyone connected.
    func fetch(_ accounts: [UniqueID]) async throws {
        guard case .views(let views) = try await ask(.views(groupIDs: [], accountIDs: accounts))
        else { return }
        state.withLock { state in
            state.views = Dictionary(uniqueKeysWithValues: views.map { ($0.groupID, $0) })
        }
    }

    /// Looks for views that are not what groups holds, as every relay does each 5 s.
    ///
    /// - Returns: Groups that changed, came or went since the last fetch.
    func sweep(_ accounts: [UniqueID]) async throws -> Set<UniqueID> {
        guard case .versions(let versions) = try await ask(.sweep(accountIDs: accounts)) else {
            return []
        }
        let held = views.mapValues(\.version)
        let now = Dictionary(uniqueKeysWithValues: versions.map { ($0.groupID, $0.version) })
        return Set(now.keys).union(held.keys).filter { held[$0] != now[$0] }
    }
}
