import FoundationEssentials
import Glibc
import Operations

@main
struct AlongsideMain {
    static func main() {
        exit(
            Alongside.run(
                arguments: Array(CommandLine.arguments.dropFirst()),
                environment: ProcessInfo.processInfo.environment
            )
        )
    }
}
