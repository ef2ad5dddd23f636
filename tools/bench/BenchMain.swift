internal import Glibc

@main
struct BenchMain {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "feed": FeedBench.run()
        default:
            print("usage: bench feed")
            exit(2)
        }
    }
}
