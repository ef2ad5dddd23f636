#if canImport(CoreLocation) && canImport(Security) && !os(macOS)
extension RideReporter {
    /// Makes a reporter of the phone's own parts: `URLSession`, Core Location and the Keychain.
    ///
    /// - Parameter configuration: The server and the limits.
    public init(configuration: RideReporterConfiguration) {
        self.init(
            configuration: configuration,
            transport: URLSessionRideTransport(),
            locationSource: CoreLocationSource(),
            credentialStore: KeychainCredentialStore()
        )
    }
}
#endif
