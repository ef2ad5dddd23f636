import Glibc

@main
struct BenchMain {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "schedule": exit(ScheduleBench.run())
        case "feed":
            FeedBench.run()
            exit(await ServingBench.run())
        case "stream": exit(await StreamBench.run())
        case "verify": exit(VerifyBench.run())
        case "ingest": exit(await IngestBench.run())
        case "relay": exit(await RelayBench.run(Array(CommandLine.arguments.dropFirst(2))))
        case "predictions":
            exit(PredictionBench.run(Array(CommandLine.arguments.dropFirst(2))))
        default:
            print("usage: bench schedule|feed|stream|ingest|verify|relay|predictions")
            exit(2)
        }
    }
}
