extension String {
    /// Whether a name is what one sees: none of it hides, turns others' text around or breaks the line,
    /// and some of it shows.
    ///
    /// Two names that look alike are told apart by nobody, and U+202E turns around what an app writes
    /// behind it. The joiners and variation selectors of scripts and emoji stay.
    public var isVisible: Bool {
        unicodeScalars.allSatisfy(\.mayStandInName)
            && unicodeScalars.contains { !$0.isUnseen && !$0.properties.isWhitespace }
    }
}

extension Unicode.Scalar {
    /// Shows nothing by itself (Unicode, Default_Ignorable_Code_Point).
    fileprivate var isUnseen: Bool { properties.isDefaultIgnorableCodePoint }

    fileprivate var mayStandInName: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return false
        case .format, .nonspacingMark, .otherLetter, .unassigned: break
        default: return true
        }
        switch value {
        // ZERO WIDTH NON-JOINER and JOINER; VARIATION SELECTOR-1 to -16.
        case 0x200C, 0x200D, 0xFE00...0xFE0F: return true
        // What counts digits and verses is a format, too, and seen.
        default: return !isUnseen
        }
    }
}
