@main
struct VerifierMain {
    static func main() async {}
}
