internal import ServiceKit

/// What the gateway of an `up` is for the public: a name with TLS, beside the one port of this machine.
struct PublicSite: Sendable {
    /// A name, or several by commas.
    let address: String
    let httpPort: Int
    let httpsPort: Int

    /// Reads the settings; nil when nothing is for the public.
    init?(_ settings: Settings) {
        guard let address = settings[UpSettings.site] else { return nil }
        self.address = address
        httpPort = settings[UpSettings.httpPort]
        httpsPort = settings[UpSettings.httpsPort]
    }

    /// What the gateway's file asks for.
    var environment: [String: String] {
        [
            "SITE_ADDRESS": address, "HTTP_PORT": String(httpPort),
            "HTTPS_PORT": String(httpsPort),
        ]
    }

    /// Why the gateway could not listen now; nil when it could.
    ///
    /// - Parameter ownPort: The one port of this machine.
    /// - Returns: A sentence that names the setting.
    func obstacle(beside ownPort: Int) -> String? {
        var owners = [ownPort: "PORT"]
        for (setting, port) in [("HTTP_PORT", httpPort), ("HTTPS_PORT", httpsPort)] {
            if let other = owners.updateValue(setting, forKey: port) {
                return "\(other) and \(setting) are both \(port); set one of them to another port"
            }
            let taken = LoopbackPort.obstacle(to: port, on: "0.0.0.0", setting: setting)
            if let taken { return taken }
        }
        return nil
    }

    /// Whether a text is one or more names or addresses that the public's ports can serve.
    ///
    /// One with a port of its own would be waited for where nobody can reach it, and what no name can hold
    /// would break the gateway's file.
    static func isAddress(_ text: String) -> Bool {
        let names = text.split { $0 == "," || $0.isWhitespace }
        return !names.isEmpty && names.allSatisfy(isName)
    }

    private static func isName(_ address: Substring) -> Bool {
        var name = address
        for scheme in ["https://", "http://"] where name.hasPrefix(scheme) {
            name = name.dropFirst(scheme.count)
        }
        if name.first == "[", name.last == "]" {
            let inner = name.dropFirst().dropLast()
            return !inner.isEmpty && inner.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        return !name.isEmpty
            && name.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "*")
            }
    }
}
