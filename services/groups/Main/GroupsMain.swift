import GroupsService
import ServiceKit

@main
struct GroupsMain {
    static func main() async { await ServiceRunner.main(Groups.definition) }
}
