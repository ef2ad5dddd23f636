import ServiceKit
import Testing
import Transit
import Web

@testable import RelayService

/// Which sockets wait for an answer about which group.
@Suite struct OpenQuestionsTests {
    @Test func `a group's view concerns those who asked about it, and nothing stays behind`() {
        let (circle, convoy) = (UniqueID.random(), UniqueID.random())
        var questions = OpenQuestions()
        var asked: [Session.Question] = []
        for number in 1...6 as ClosedRange<Int32> {
            let account = UniqueID.random()
            let session = Session(
                number: number,
                account: account,
                claims: TokenClaims(
                    subject: account.description,
                    role: .member,
                    issuedAt: 0,
                    lifetime: .seconds(1)
                ),
                at: 0
            )
            let question = Session.Question(
                id: UInt64(number),
                purpose: .join,
                group: number <= 2 ? circle : convoy,
                deadline: 1
            )
            questions.add(question, of: session)
            asked.append(question)
        }
        #expect(Set(questions.sessions(about: circle).map(\.number)) == [1, 2])
        #expect(questions.sessions(about: convoy).count == 4)
        #expect(questions[3]?.number == 3)
        questions.remove(asked[0])
        #expect(questions.sessions(about: circle).map(\.number) == [2])
        for question in asked { questions.remove(question) }
        #expect(questions.values.isEmpty && questions.groups.isEmpty)
        #expect(questions.sessions(about: convoy).isEmpty)
    }
}
