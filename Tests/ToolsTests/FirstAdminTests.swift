import AuthService
import Foundation
import ServiceKit
import Testing

@testable import Operations

/// The first admin of `alongside up`.
@Suite struct FirstAdminTests {
    private func admin(
        _ environment: [String: String],
        _ folder: DataFolder,
        _ standing: StaffAccounts.AdminStanding = .noneYet
    ) throws -> FirstAdmin {
        let settings = try UpSettings.table.read(environment: environment, options: [:])
        return try FirstAdmin(settings, environment: environment, folder) { _, _ in standing }
    }

    private func withFolder(_ body: (DataFolder) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "alongside-admin-\(UInt32.random(in: 0...UInt32.max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(DataFolder(opening: path))
    }

    /// deploy/settings.env has an address and no password.
    @Test(arguments: [
        ([:], "admin@localhost"), (["ADMIN_BOOTSTRAP_EMAIL": "a@b"], "a@b"),
    ])
    func `has a password of its own, kept for its owner's eyes`(
        environment: [String: String],
        email: String
    ) throws {
        try withFolder { folder in
            let first = try admin(environment, folder)
            #expect(first.environment["ADMIN_BOOTSTRAP_EMAIL"] == email)
            #expect(first.announcement.hasPrefix(email))
            let file = try #require(first.environment["ADMIN_BOOTSTRAP_PASSWORD_FILE"])
            #expect(first.environment.count == 2)
            #expect(first.announcement.contains(file))
            let password = try #require(DataFolder.text(of: file))
            #expect(password.count == 64)
            #expect(!first.announcement.contains(password))
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try admin(environment, folder).environment == first.environment)
            #expect(DataFolder.text(of: file) == password)
        }
    }

    @Test(arguments: [nil, "a@b"])
    func `is not promised where an admin exists already`(email: String?) throws {
        try withFolder { folder in
            let file = folder.keys + "/admin-password"
            let environment = email.map { ["ADMIN_BOOTSTRAP_EMAIL": $0] } ?? [:]
            let name = email ?? "admin@localhost"
            for standing in [StaffAccounts.AdminStanding.exists(passwordFits: false), .others] {
                let late = try admin(environment, folder, standing)
                #expect(late.environment.isEmpty)
                #expect(late.announcement.hasPrefix(name))
                #expect(!late.announcement.contains("its first password is in"))
                #expect(late.announcement.contains("alongside user add"))
                // Nor is a password made that nobody has.
                #expect(DataFolder.text(of: file) == nil)
            }
            let kept = try admin(environment, folder, .exists(passwordFits: true))
            #expect(kept.environment.isEmpty)
            #expect(kept.announcement == "\(name), its first password is in \(file)")
        }
    }

    @Test func `is asked for with the password that would be announced`() throws {
        try withFolder { folder in
            var asked: [[String?]] = []
            func ask(_ environment: [String: String]) throws {
                let settings = try UpSettings.table.read(environment: environment)
                _ = try FirstAdmin(settings, environment: environment, folder) { email, password in
                    asked.append([email, password])
                    return .noneYet
                }
            }
            try ask([:])
            try ask([:])
            try ask(["ADMIN_BOOTSTRAP_EMAIL": "a@b", "ADMIN_BOOTSTRAP_PASSWORD": "12345678"])
            let made = DataFolder.text(of: folder.keys + "/admin-password")
            #expect(
                asked == [
                    ["admin@localhost", nil], ["admin@localhost", made], ["a@b", "12345678"],
                ]
            )
        }
    }

    @Test func `a password alone is that of the usual address`() throws {
        try withFolder { folder in
            let admin = try admin(["ADMIN_BOOTSTRAP_PASSWORD": "12345678"], folder)
            #expect(
                admin.environment == [
                    "ADMIN_BOOTSTRAP_EMAIL": "admin@localhost",
                    "ADMIN_BOOTSTRAP_PASSWORD": "12345678",
                ]
            )
            #expect(admin.announcement.hasPrefix("admin@localhost, password from"))
        }
    }

    @Test func `is the operator's where the operator says so`() throws {
        let environment = ["ADMIN_BOOTSTRAP_EMAIL": "a@b", "ADMIN_BOOTSTRAP_PASSWORD": "12345678"]
        try withFolder { folder in
            var all = environment
            all["DATABASE_URL"] = "postgresql:///x"
            let admin = try admin(all, folder)
            #expect(admin.environment == environment)
            #expect(admin.announcement.contains("a@b"))
            #expect(!admin.announcement.contains("12345678"))
            #expect(DataFolder.text(of: folder.keys + "/admin-password") == nil)
        }
    }
}
