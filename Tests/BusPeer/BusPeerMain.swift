@main
struct BusPeerMain {
    static func main() async {}
}
