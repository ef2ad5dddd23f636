import FeedService
import ServiceKit

@main
struct FeedMain {
    static func main() async { await ServiceRunner.main(Feed.definition) }
}
