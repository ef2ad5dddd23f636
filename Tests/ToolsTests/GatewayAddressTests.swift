import Testing

@testable import Operations

@Suite struct GatewayAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "http://127.0.0.1:81", "http://localhost:81"),
        ("0.0.0.0", "http://127.0.0.1:81", "http://localhost:81"),
        ("0", "http://127.0.0.1:81", "http://localhost:81"),
        ("::", "http://[::1]:81", "http://localhost:81"),
        ("::1", "http://[::1]:81", "http://[::1]:81"),
        ("0:0::1", "http://[::1]:81", "http://[::1]:81"),
        ("127.0.0.2", "http://127.0.0.2:81", "http://127.0.0.2:81"),
        ("192.0.2.7", "http://192.0.2.7:81", "http://192.0.2.7:81"),
        ("2001:db8::7", "http://[2001:db8::7]:81", "http://[2001:db8::7]:81"),
    ])
    func `leads to where the gateway listens`(bind: String, url: String, shown: String) {
        let address = GatewayAddress(bind: bind, port: 81)
        #expect(address.url == url)
        #expect(address.shownURL == shown)
    }
}
