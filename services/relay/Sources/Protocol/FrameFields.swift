internal import Messages
internal import Transit
internal import Web

/// The members of a client's frame that any type of frame knows, read in one pass.
struct FrameFields {
    /// A member's value.
    enum Field {
        case absent
        case text(String)
        /// The nearest double, and the whole number where it was written as one.
        case number(Double, Int64?)
        /// Anything else, null included.
        case other

        /// An id of the usual form.
        var id: UniqueID? { if case .text(let text) = self { UniqueID(text) } else { nil } }

        /// A number in a range; nil for everything else.
        func number(in range: ClosedRange<Double>) -> Double? {
            guard case .number(let number, _) = self, range.contains(number) else { return nil }
            return number
        }

        /// A moment after 1970; a fraction is cut off.
        var positiveMilliseconds: Int64? {
            guard case .number(let number, let whole) = self else { return nil }
            let milliseconds = whole ?? Int64(exactly: number.rounded(.down)) ?? 0
            return milliseconds > 0 ? milliseconds : nil
        }
    }

    var type = Field.absent
    var groupID = Field.absent
    var latitude = Field.absent
    var longitude = Field.absent
    var accuracy = Field.absent
    var heading = Field.absent
    var speed = Field.absent
    var timestamp = Field.absent
    var index = Field.absent
    var token = Field.absent
    /// The destinations; nil without any, with more than three, or when one of them is invalid.
    var candidates: [RelayedVote.Candidate]?
    private var hasCandidates = false

    /// Reads a message.
    ///
    /// - Throws: `JSONError` for what is not one strict object.
    init(_ bytes: [UInt8]) throws(JSONError) {
        var reader = JSONReader(bytes, maximumDepth: RelayLimits.frameDepth)
        guard try reader.next() == .beginObject else { throw .notOneObject }
        while try reader.next() == .key {
            switch try reader.string() {
            case "type": try Self.set(&type, &reader)
            case "groupId": try Self.set(&groupID, &reader)
            case "lat": try Self.set(&latitude, &reader)
            case "lon": try Self.set(&longitude, &reader)
            case "accuracyM": try Self.set(&accuracy, &reader)
            case "headingDeg": try Self.set(&heading, &reader)
            case "speedKmh": try Self.set(&speed, &reader)
            case "ts": try Self.set(&timestamp, &reader)
            case "index": try Self.set(&index, &reader)
            case "token": try Self.set(&token, &reader)
            case "candidates":
                guard !hasCandidates else { throw .duplicateKey("candidates") }
                hasCandidates = true
                candidates = try Self.candidates(&reader)
            default: _ = try Self.value(&reader)
            }
        }
        guard try reader.next() == .end else { throw .notOneObject }
    }

    private static func set(
        _ field: inout Field,
        _ reader: inout JSONReader
    ) throws(JSONError) {
        guard case .absent = field else { throw .duplicateKey("") }
        field = try value(&reader)
    }

    /// Reads a value; what is neither text nor number is passed over, its texts checked all the same.
    private static func value(_ reader: inout JSONReader) throws(JSONError) -> Field {
        let outer = reader.depth
        switch try reader.next() {
        case .string: return .text(try reader.string())
        case .number: return .number(reader.double, reader.int64)
        default: break
        }
        while reader.depth > outer {
            switch try reader.next() {
            case .key, .string: _ = try reader.string()
            default: break
            }
        }
        return .other
    }

    // MARK: - Destinations

    private static func candidates(
        _ reader: inout JSONReader
    ) throws(JSONError) -> [RelayedVote.Candidate]? {
        let outer = reader.depth
        guard try reader.next() == .beginArray else {
            while reader.depth > outer { try pass(&reader) }
            return nil
        }
        var candidates: [RelayedVote.Candidate] = []
        var count = 0
        while true {
            switch try reader.next() {
            case .endArray:
                let isWhole = count == candidates.count
                return isWhole && RelayLimits.candidates.contains(count) ? candidates : nil
            case .beginObject:
                count += 1
                // One too many voids the frame; no need to keep them.
                if let candidate = try candidate(&reader),
                    candidates.count <= RelayLimits.candidates.upperBound
                {
                    candidates.append(candidate)
                }
            case .string:
                _ = try reader.string()
                count += 1
            case .beginArray:
                count += 1
                while reader.depth > outer + 1 { try pass(&reader) }
            default: count += 1
            }
        }
    }

    /// Reads one token, whose text is checked.
    private static func pass(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.next() {
        case .key, .string: _ = try reader.string()
        default: break
        }
    }

    /// Reads the object that has begun; nil when it is no destination.
    private static func candidate(
        _ reader: inout JSONReader
    ) throws(JSONError) -> RelayedVote.Candidate? {
        var latitude = Field.absent
        var longitude = Field.absent
        var distance = Field.absent
        var duration = Field.absent
        var name = Field.absent
        while try reader.next() == .key {
            switch try reader.string() {
            case "lat": latitude = try value(&reader)
            case "lon": longitude = try value(&reader)
            case "distanceM": distance = try value(&reader)
            case "durationS": duration = try value(&reader)
            case "name": name = try value(&reader)
            default: _ = try value(&reader)
            }
        }
        guard case .number(let latitude, _) = latitude, case .number(let longitude, _) = longitude,
            RelayLimits.latitudes.contains(latitude), RelayLimits.longitudes.contains(longitude)
        else { return nil }
        var candidate = RelayedVote.Candidate(latitude: latitude, longitude: longitude)
        if case .number(let meters, _) = distance { candidate.distanceMeters = meters }
        if case .number(let seconds, _) = duration { candidate.durationSeconds = seconds }
        if case .text(let text) = name {
            guard text.unicodeScalars.count <= RelayLimits.candidateName else { return nil }
            candidate.name = text
        }
        return candidate
    }
}
