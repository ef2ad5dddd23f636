@main
struct AlongsideMain {
    static func main() async {}
}
