import Glibc
import RiderSimulation

@main
struct RiderSimMain {
    static func main() async {
        exit(await SimulatorProgram.run(arguments: CommandLine.arguments))
    }
}
