@main
struct RiderIngestMain {
    static func main() async {}
}
