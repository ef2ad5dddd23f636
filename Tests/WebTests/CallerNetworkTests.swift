import Testing
import Web

/// Which addresses are one caller.
@Suite struct CallerNetworkTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::1", "0:0:0:0::/64"), ("::", "0:0:0:0::/64"),
        ("2001:db8::1", "2001:db8:0:0::/64"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:0:1::", "2001:db8:0:1::/64"), ("fe80::1:2:3:4", "fe80:0:0:0::/64"),
        ("1:2:3::5:6:7:8", "1:2:3:0::/64"), ("1::4:5:6:7:8", "1:0:0:4::/64"), ("", ""),
    ])
    func `reduces an address to its network`(address: String, network: String) {
        #expect(address.callerNetwork == network)
    }
}
