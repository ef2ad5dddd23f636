internal import Synchronization

/// Everything a process counts, rendered as Prometheus text.
///
/// Handles are made once at start and updated without looking a name up again. Names end in their
/// unit; the number of label values is bounded by the caller.
public final class Metrics: Sendable {
    private struct Family {
        let help: String
        let kind: String
        var series: [(labels: String, read: @Sendable (String, String) -> String)]
    }

    private let families = Mutex<[String: Family]>([:])

    /// Makes an empty registry.
    public init() {}

    /// Registers a counter, a number that only rises (`reports_refused_total`).
    public func counter(
        _ name: String,
        help: String,
        labels: KeyValuePairs<String, String> = [:]
    ) -> Counter {
        let counter = Counter()
        add(name, help: help, kind: "counter", labels: labels) { name, labels in
            "\(name)\(braced(labels)) \(counter.value)\n"
        }
        return counter
    }

    /// Registers a gauge, a number that goes up and down (`queue_depth_items`).
    public func gauge(
        _ name: String,
        help: String,
        labels: KeyValuePairs<String, String> = [:]
    ) -> Gauge {
        let gauge = Gauge()
        add(name, help: help, kind: "gauge", labels: labels) { name, labels in
            "\(name)\(braced(labels)) \(gauge.value)\n"
        }
        return gauge
    }

    /// Registers a gauge that is read when it is rendered.
    public func gauge(
        _ name: String,
        help: String,
        labels: KeyValuePairs<String, String> = [:],
        read: @escaping @Sendable () -> Double
    ) {
        add(name, help: help, kind: "gauge", labels: labels) { name, labels in
            "\(name)\(braced(labels)) \(read())\n"
        }
    }

    /// Registers a histogram with upper bounds in the unit of its name (`…_seconds`).
    public func histogram(
        _ name: String,
        help: String,
        labels: KeyValuePairs<String, String> = [:],
        bounds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    ) -> Histogram {
        let histogram = Histogram(bounds: bounds)
        add(name, help: help, kind: "histogram", labels: labels) { name, labels in
            histogram.rendered(name, labels)
        }
        return histogram
    }

    /// The registry as Prometheus text exposition format 0.0.4, families in the order of their names.
    public func rendered() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            // A help of two lines would make a sample of the second, and Prometheus refuse the whole.
            let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(family.kind)\n"
            for series in family.series { text += series.read(name, series.labels) }
        }
        return text
    }

    private func add(
        _ name: String,
        help: String,
        kind: String,
        labels: KeyValuePairs<String, String>,
        read: @escaping @Sendable (String, String) -> String
    ) {
        let rendered = labels.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",")
        families.withLock { families in
            var family = families[name] ?? Family(help: help, kind: kind, series: [])
            family.series.append((rendered, read))
            families[name] = family
        }
    }

    private func escaped(_ value: String) -> String {
        var result = ""
        for character in value {
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.append(character)
            }
        }
        return result
    }
}

private func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

/// A number that only rises.
public final class Counter: Sendable {
    private let storage = Atomic<Int>(0)

    init() {}

    /// The count so far.
    public var value: Int { storage.load(ordering: .relaxed) }

    /// Adds to the count.
    public func add(_ amount: Int = 1) { storage.wrappingAdd(amount, ordering: .relaxed) }
}

/// A number that goes up and down.
public final class Gauge: Sendable {
    private let storage = Atomic<UInt64>(0)

    init() {}

    /// The value last set, in the unit of the gauge's name.
    public var value: Double { Double(bitPattern: storage.load(ordering: .relaxed)) }

    /// Sets the value.
    public func set(_ value: Double) { storage.store(value.bitPattern, ordering: .relaxed) }
}

/// A distribution over fixed upper bounds.
public final class Histogram: Sendable {
    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    /// Records one value, in the unit of the histogram's name.
    public func observe(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func rendered(_ name: String, _ labels: String) -> String {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        let prefix = labels.isEmpty ? "" : labels + ","
        var text = ""
        var total = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? String(bounds[index]) : "+Inf"
            text += "\(name)_bucket{\(prefix)le=\"\(bound)\"} \(total)\n"
        }
        return text
            + "\(name)_sum\(braced(labels)) \(sum)\n\(name)_count\(braced(labels)) \(total)\n"
    }
}
