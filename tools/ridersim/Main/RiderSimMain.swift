@main
struct RiderSimMain {
    static func main() async {}
}
