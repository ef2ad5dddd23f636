internal import Glibc

/// How benchmarks print numbers.
enum BenchText {
    /// The middle value.
    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    static func whole(_ value: Double) -> String { String(Int(value.rounded())) }

    static func hundredths(_ value: Double) -> String { String((value * 100).rounded() / 100) }
}

/// This program on this machine.
enum BenchProcess {
    /// The folder of the executables.
    static func programs() -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
        return text.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }
}
