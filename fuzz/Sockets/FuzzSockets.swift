internal import FuzzChecks

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzChecks.socket(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}
