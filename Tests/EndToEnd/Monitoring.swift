import Foundation
import TestKit
import Web

/// Debian's Prometheus on the real rules, looking at a running product.
///
/// What is measured over minutes is measured over seconds here, so that a test need not wait for it.
final class Monitoring: @unchecked Sendable {
    // Sendable: set up before it is shared.
    private let process = Process()
    private let folder: String
    private let url: String
    private let client = HTTPClient()

    /// Starts it on every instance of a product.
    init(_ product: Product) async throws {
        folder = "/tmp/alongside-prometheus-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let port = try Product.freePort()
        url = "http://127.0.0.1:\(port)"
        let rules = try Self.rules()
        try rules.write(toFile: folder + "/rules.yml", atomically: true, encoding: .utf8)
        try Self.configuration(product, folder).write(
            toFile: folder + "/prometheus.yml",
            atomically: true,
            encoding: .utf8
        )
        process.executableURL = URL(fileURLWithPath: "/usr/bin/prometheus")
        process.arguments = [
            "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
            "--web.listen-address=127.0.0.1:\(port)", "--query.lookback-delta=3s",
            "--log.level=error",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    func remove() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The rules with shorter times; every other word is the operator's.
    private static func rules() throws -> String {
        try String(
            contentsOfFile: ProjectPaths.root + "/deploy/prometheus/rules.yml",
            encoding: .utf8
        )
        .replacing(#/for: \d+[ms]/#, with: "for: 1s")
        .replacing(#/\[[15]m\]/#, with: "[10s]")
        .replacing("agency_feed_age_seconds) > 300", with: "agency_feed_age_seconds) > 4")
    }

    private static func configuration(_ product: Product, _ folder: String) throws -> String {
        var text = """
            global: {scrape_interval: 1s, evaluation_interval: 1s, scrape_timeout: 1s}
            rule_files: [\(folder)/rules.yml]
            scrape_configs:
              - job_name: alongside
                static_configs:

            """
        for (service, port) in try product.internalPorts {
            text += "      - {targets: ['127.0.0.1:\(port)'], labels: {service: \(service)}}\n"
        }
        return text
    }

    // MARK: - Asking

    private struct Answer: Decodable {
        struct Series: Decodable { let metric: [String: String] }
        struct Alert: Decodable {
            let labels: [String: String]
            let state: String
        }
        struct Data: Decodable {
            let result: [Series]?
            let alerts: [Alert]?
        }
        let status: String
        let error: String?
        let data: Data?
    }

    private func ask(_ path: String) async throws -> Answer {
        let answer = try await client.get(url + path)
        return try JSONDecoder().decode(Answer.self, from: Foundation.Data(answer.body))
    }

    /// How many series a query gives now.
    ///
    /// - Throws: With Prometheus' word for what is wrong with it.
    func series(_ query: String) async throws -> Int {
        let encoded = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let answer = try await ask("/api/v1/query?query=\(encoded)")
        guard answer.status == "success" else {
            throw ProductFailure("\(query): \(answer.error ?? "")")
        }
        return answer.data?.result?.count ?? 0
    }

    /// What the alerts look at: a healthy product has all of it, though no alert's query gives a series.
    static func alertSelectors() throws -> Set<String> {
        let names = #/up\{[^}]*\}|[a-z_]+_(total|seconds|items|flag)(\{[^}]*\})?/#
        return Set(try rules().matches(of: names).map { String($0.0) })
    }

    /// The alerts that fire, by name.
    var firing: Set<String> {
        get async throws {
            let alerts = try await ask("/api/v1/alerts").data?.alerts ?? []
            return Set(alerts.filter { $0.state == "firing" }.compactMap { $0.labels["alertname"] })
        }
    }

    var isUp: Bool {
        get async { (try? await client.get(url + "/-/ready").status) == 200 }
    }
}

extension Product {
    /// The port of `/metrics` of every instance, by service.
    var internalPorts: [(service: String, port: Int)] {
        get throws {
            let logs = folder + "/logs"
            return try FileManager.default.contentsOfDirectory(atPath: logs).sorted().compactMap {
                name in
                guard let match = name.wholeMatch(of: #/([a-z-]+)-\d+\.log/#) else { return nil }
                let log = try String(contentsOfFile: "\(logs)/\(name)", encoding: .utf8)
                let line = log.split(separator: "\n").last {
                    $0.contains("\"server.name\":\"internal-http\"")
                }
                guard let port = line?.firstMatch(of: #/"server\.port":(\d+)/#) else { return nil }
                return (String(match.1), Int(port.1) ?? 0)
            }
        }
    }
}
