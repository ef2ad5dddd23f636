@main
struct RelayMain {
    static func main() async {}
}
