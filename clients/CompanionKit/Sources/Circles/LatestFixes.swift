/// The map of circles: one dot for each person (spec 4.7).
public enum LatestFixes {
    /// A person's newest fix.
    public struct Entry: Sendable, Equatable {
        /// The handle, nil for someone whom no list names.
        public var username: String?
        /// Where they were last.
        public var fix: MemberFix
    }

    /// Chooses the newest fix of everyone but the reader.
    ///
    /// - Parameters:
    ///   - fixes: Of all circles; someone in two of them appears twice.
    ///   - circles: Name the people.
    ///   - me: Whose own dot the phone draws itself.
    /// - Returns: In the order of the handles.
    public static func merge(
        _ fixes: [MemberFix],
        circles: [CompanionGroup],
        me: AccountID
    ) -> [Entry] {
        var newest: [AccountID: MemberFix] = [:]
        for fix in fixes where fix.riderID != me {
            if let known = newest[fix.riderID], known.measuredAt >= fix.measuredAt { continue }
            newest[fix.riderID] = fix
        }
        return newest.values.map { fix in
            let names = circles.lazy.compactMap { $0.username(of: fix.riderID) }
            return Entry(username: names.first, fix: fix)
        }.sorted {
            ($0.username ?? "", $0.fix.riderID.description)
                < ($1.username ?? "", $1.fix.riderID.description)
        }
    }
}
