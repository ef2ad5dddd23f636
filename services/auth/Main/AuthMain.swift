import AuthService
import ServiceKit

@main
struct AuthMain {
    static func main() async { await ServiceRunner.main(Auth.definition) }
}
