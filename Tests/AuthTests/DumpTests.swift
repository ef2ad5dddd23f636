import Database
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// What a copy of auth's schema gives away: no password, no token that works, and nothing by which a
/// rider and an account could be joined.
@Suite(.timeLimit(.minutes(3))) struct DumpTests {
    private let clock = ManualClock()

    @Test func `holds no password and no token that works`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let password = "a password in clear"
            let signedUp = try await auth.signUp(
                "ada",
                email: "ada@example.org",
                password: password
            ).decoded(AuthProcess.Tokens.self)
            let rotated = try await auth.refresh(signedUp.refreshToken)
                .decoded(AuthProcess.Tokens.self)
            let admin = try await auth.staff(email: "root@example.org", in: database)
            let browser = try await auth.call(
                .post,
                "/api/v1/auth/session",
                json(["email": "root@example.org", "password": goodPassword])
            )
            let cookie = try #require(browser.headers.first("Set-Cookie"))
            let rider = try await auth.register().decoded(AuthProcess.Registration.self)
            _ = try await auth.logIn(handle: "ada", password: "a wrong password in clear")
            _ = try await auth.call(.post, "/api/v1/auth/logout", token: rotated.token)

            let dump = try await AuthDump(database)
            #expect(dump.rows["accounts"]?.count == 2)
            #expect(dump.rows["session_tokens"]?.isEmpty == false)
            var secrets = [password, goodPassword, "a wrong password in clear"]
            for token in [signedUp.token, rotated.token, admin.token, rider.token, cookie] {
                // A token is worth what its signature is worth.
                secrets += token.split(separator: ".").map(String.init).filter { $0.count > 40 }
            }
            for token in [signedUp.refreshToken, rotated.refreshToken, admin.refreshToken] {
                secrets.append(token)
                secrets.append(Data(token.utf8).base64EncodedString())
            }
            for secret in secrets {
                #expect(!dump.text.contains(secret), "\(secret.prefix(12))…")
                let bytes = Array(secret.utf8).hexadecimal
                #expect(!dump.text.contains(bytes), "\(secret.prefix(12))… in hexadecimal")
            }
        }
    }

    @Test func `what stands there instead of a refresh token is none`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.member("ada")
            let hashes = try await database.query { connection throws(DatabaseError) in
                var hashes: [[UInt8]] = []
                for row in try connection.query("SELECT refresh_hash FROM auth.session_tokens") {
                    hashes.append(try row.bytes(0))
                }
                return hashes
            }
            #expect(hashes.count == 1)
            for hash in hashes {
                for form in [hash.hexadecimal, Data(hash).base64EncodedString()] {
                    #expect(try await auth.refresh(form).status == 401)
                }
            }
            let stored = try await database.query { connection throws(DatabaseError) in
                try connection.query("SELECT password_hash FROM auth.accounts").one().text(0)
            }
            #expect(stored.hasPrefix("$argon2id$"))
            #expect(try await auth.logIn(handle: "ada", password: stored).status == 401)
        }
    }

    /// One person with both apps on one phone, at one time and from one address.
    @Test func `no value of a rider's row stands in an account's rows, or the other way`()
        async throws
    {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let address = "192.0.2.1"
            let installation = UniqueID.random()
            let body = AuthTests.installation(installation)
            let rider = try await auth.register(body, from: address)
                .decoded(AuthProcess.Registration.self)
            let member = try await auth.signUp("ada", email: "a@b.example", from: address)
                .decoded(AuthProcess.Tokens.self)
            _ = try await auth.logIn(handle: "ada", from: address)
            let dump = try await AuthDump(database)
            for (table, rows) in dump.rows {
                let text = rows.joined(separator: "\n")
                let isAboutRider =
                    text.contains(rider.riderId) || text.contains(installation.description)
                let isAboutAccount =
                    text.contains(member.accountId) || text.contains("a@b.example")
                #expect(!(isAboutRider && isAboutAccount), "\(table)")
                // The address, by which the two could be guessed to be one, is with neither.
                #expect(!text.contains(address))
                #expect(table != "attempts" || (!isAboutRider && !isAboutAccount))
            }
            // One caller, counted as three: who holds the rows cannot tell.
            let callers = try await database.query { connection throws(DatabaseError) in
                var callers: [String] = []
                for row in try connection.query("SELECT caller FROM auth.attempts") {
                    callers.append(try row.text(0))
                }
                return callers
            }
            #expect(callers.count == 3)
            #expect(Set(callers).count == 3)
        }
    }

    @Test func `no column and no foreign key leads from riders to accounts`() async throws {
        let database = try await authDatabase()
        let links = try await database.query { connection throws(DatabaseError) in
            var links: [String] = []
            for row in try connection.query(
                """
                SELECT conrelid::regclass::text || ' → ' || confrelid::regclass::text AS link
                FROM pg_constraint WHERE contype = 'f' AND connamespace = 'auth'::regnamespace
                """
            ) { links.append(try row.text("link")) }
            for row in try connection.query(
                """
                SELECT table_name || '.' || column_name AS link FROM information_schema.columns
                WHERE table_schema = 'auth' AND (
                    (table_name IN ('accounts', 'sessions', 'session_tokens')
                        AND column_name ~ 'rider|installation')
                    OR (table_name = 'riders' AND column_name ~ 'account|session|handle|email'))
                """
            ) { links.append(try row.text("link")) }
            return links.sorted()
        }
        #expect(
            links == ["auth.session_tokens → auth.sessions", "auth.sessions → auth.accounts"]
        )
    }
}
