@main
struct GroupsMain {
    static func main() async {}
}
