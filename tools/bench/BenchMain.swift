import Glibc

@main
struct BenchMain {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "schedule": exit(ScheduleBench.run())
        case "feed": FeedBench.run()
        case "verify": exit(VerifyBench.run())
        case "ingest": exit(await IngestBench.run())
        case "relay": exit(await RelayBench.run())
        case "predictions":
            exit(PredictionBench.run(Array(CommandLine.arguments.dropFirst(2))))
        default:
            print("usage: bench schedule|feed|ingest|verify|relay|predictions")
            exit(2)
        }
    }
}
