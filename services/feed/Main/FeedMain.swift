@main
struct FeedMain {
    static func main() async {}
}
