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
    var obstacle: String? {
        [("HTTP_PORT", httpPort), ("HTTPS_PORT", httpsPort)].lazy.compactMap { setting, port in
            LoopbackPort.obstacle(to: port, on: "0.0.0.0", setting: setting)
        }
        .first
    }
}
