import Foundation

/// The errors that a Swift source makes, found by the label `code:` of the call that makes them.
struct SourceErrors {
    struct Entry: Hashable {
        let code: String
        /// Digits, or empty where the call does not say.
        let status: String
        let sentence: String
        let service: String

        var row: String { "| `\(code)` | \(status) | \(sentence) | \(service) |" }
    }

    let all: [Entry]

    init(_ source: String, service: String) {
        let characters = Array(source)
        var found: [Entry] = []
        var index = 0
        let label = Array("code: \"")
        while index + label.count < characters.count {
            defer { index += 1 }
            guard characters[index..<index + label.count].elementsEqual(label) else { continue }
            let code = Self.literal(characters, at: index + label.count - 1)
            guard code.contains("."), !code.contains("…"),
                let call = Self.call(characters, around: index)
            else { continue }
            found.append(
                Entry(
                    code: code,
                    status: Self.status(call),
                    sentence: Self.sentence(call, code: code),
                    service: service
                )
            )
        }
        all = found
    }

    /// The text of a literal that begins at a quote; `…` for what is put in.
    private static func literal(_ characters: [Character], at quote: Int) -> String {
        var text = ""
        var index = quote + 1
        while index < characters.count, characters[index] != "\"" {
            if characters[index] == "\\", index + 1 < characters.count {
                index += 1
                if characters[index] == "(" {
                    index = closing(characters, from: index)
                    text += "…"
                } else {
                    text.append(characters[index])
                }
            } else {
                text.append(characters[index])
            }
            index += 1
        }
        return text
    }

    /// The index of the parenthesis that closes the one at an index.
    private static func closing(_ characters: [Character], from open: Int) -> Int {
        var depth = 0
        for index in open..<characters.count {
            if characters[index] == "(" { depth += 1 }
            if characters[index] == ")" { depth -= 1 }
            if depth == 0 { return index }
        }
        return characters.count - 1
    }

    /// The call whose arguments hold an index: the name before its parenthesis, and its text.
    private static func call(
        _ characters: [Character],
        around index: Int
    ) -> (name: String, text: [Character])? {
        var depth = 0
        var open = index
        while open > 0 {
            open -= 1
            if characters[open] == ")" { depth += 1 }
            if characters[open] == "(" {
                if depth == 0 { break }
                depth -= 1
            }
        }
        guard open > 0 else { return nil }
        let name = String(characters[..<open].reversed().prefix { $0.isLetter }.reversed())
        return (name, Array(characters[open...closing(characters, from: open)]))
    }

    private static func status(_ call: (name: String, text: [Character])) -> String {
        switch call.name {
        case "badRequest": return "400"
        case "unprocessable": return "422"
        default: break
        }
        guard let label = String(call.text).range(of: "status: ") else { return "" }
        return String(String(call.text)[label.upperBound...].prefix { $0.isNumber })
    }

    /// The literals of the call beside the code, put together.
    private static func sentence(
        _ call: (name: String, text: [Character]),
        code: String
    ) -> String {
        var sentence = ""
        var index = 0
        while index < call.text.count {
            if call.text[index] == "\"" {
                let text = literal(call.text, at: index)
                if text != code { sentence += text }
                index = end(call.text, at: index)
            }
            index += 1
        }
        return sentence
    }

    private static func end(_ characters: [Character], at quote: Int) -> Int {
        var index = quote + 1
        while index < characters.count, characters[index] != "\"" {
            if characters[index] == "\\", index + 1 < characters.count {
                index += 1
                if characters[index] == "(" { index = closing(characters, from: index) }
            }
            index += 1
        }
        return index
    }
}
