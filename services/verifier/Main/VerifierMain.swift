import ServiceKit
import VerifierService

@main
struct VerifierMain {
    static func main() async { await ServiceRunner.main(Verifier.definition) }
}
