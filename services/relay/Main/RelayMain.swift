import RelayService
import ServiceKit

@main
struct RelayMain {
    static func main() async { await ServiceRunner.main(Relay.definition) }
}
