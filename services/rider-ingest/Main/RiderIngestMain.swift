import RiderIngestService
import ServiceKit

@main
struct RiderIngestMain {
    static func main() async { await ServiceRunner.main(RiderIngest.definition) }
}
