import CompanionTool
import Glibc

@main
struct CompanionMain {
    static func main() async {
        exit(await CompanionProgram.run(arguments: CommandLine.arguments))
    }
}
