import Glibc

@main
struct BenchMain {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "schedule": exit(ScheduleBench.run())
        case "feed": FeedBench.run()
        case "verify": exit(VerifyBench.run())
        case "ingest": exit(await IngestBench.run())
        default:
            print("usage: bench schedule|feed|ingest|verify")
            exit(2)
        }
    }
}
