import Foundation
import TestKit

/// Clients that connect and break off at once.
enum AbortingClients {
    /// Threads that connect; more would only wait for one another.
    private static let threads = 4

    /// Connects and breaks off so many times: some before they are let in, some then, some in the middle of a
    /// frame.
    static func run(
        _ count: Int,
        at port: Int,
        token: @escaping @Sendable () -> String
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<threads {
                group.addTask {
                    try await LiveClient.offPool {
                        for index in stride(from: first, to: count, by: threads) {
                            let descriptor = try LiveClient.ask(port: port, token: token())
                            defer { LiveClient.reset(descriptor) }
                            guard index % 3 > 0 else { continue }
                            guard try LiveClient.answer(descriptor) == 101 else {
                                throw Late("no upgrade")
                            }
                            guard index % 3 > 1 else { continue }
                            let half: [UInt8] = [0x81, 0xFE, 0x10]
                            _ = Glibc.send(descriptor, half, half.count, Int32(MSG_NOSIGNAL))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
