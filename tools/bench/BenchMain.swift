import Glibc

@main
struct BenchMain {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "schedule":
            exit(ScheduleBench.run())
        default:
            print("usage: bench schedule")
            exit(2)
        }
    }
}
