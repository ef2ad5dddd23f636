internal import Glibc

/// How many files and sockets this process may have open.
enum DescriptorLimit {
    /// What a process needs beside the sockets of clients.
    private static let reserve = 256

    /// Raises the limit as far as the system lets it.
    ///
    /// - Parameter sockets: The sockets that are wanted.
    /// - Returns: The sockets that there is room for, at most as many as wanted.
    static func raise(for sockets: Int) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return sockets
        }
        let wanted = rlim_t(sockets + reserve)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(wanted, limit.rlim_max)
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return max(1, min(sockets, Int(clamping: limit.rlim_cur) - reserve))
    }
}
