import ServiceKit
import TestKit
import Testing

@testable import Operations

/// The alerts over series that are made up; over the running product they are in EndToEnd.
@Suite struct AlertTests {
    @Test func `each fires in time when it should, and not before`() throws {
        let run = try FinishedProgram([
            "promtool", "test", "rules", "deploy/prometheus/rules-test.yml",
        ])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func `each is tried`() throws {
        let tried = try text(of: "deploy/prometheus/rules-test.yml")
        for alert in try text(of: "deploy/prometheus/rules.yml").matches(of: #/alert: (\w+)/#) {
            #expect(tried.contains("alertname: \(alert.1)"), "\(alert.1)")
        }
    }

    @Test func `Prometheus takes the configuration`() throws {
        let run = try FinishedProgram([
            "promtool", "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml",
        ])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func `every port that is looked at is a service's own`() throws {
        let configuration = try text(of: "deploy/prometheus/prometheus.yml")
        for service in Fleet.definitions {
            let target = "names: [\(service.name)], type: A, port: \(service.internalPort)"
            #expect(configuration.contains(target))
        }
    }
}
