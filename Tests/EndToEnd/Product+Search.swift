import Database
import Foundation

/// Looking for traces of somebody in what a product stores.
extension Product {
    /// The tables with a row in which an id stands, in its text form or as bytes.
    func tables(holding id: String) async throws -> [String] {
        let database = try database()
        let found = try await database.withConnection { connection throws(DatabaseError) in
            var found: [String] = []
            let tables = try connection.query(
                """
                SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
                WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
                    AND table_type = 'BASE TABLE'
                """
            )
            let bytes = id.replacing("-", with: "").lowercased()
            for table in tables {
                let name = try table.text(0)
                let rows = try connection.query(
                    """
                    SELECT FROM \(name) t WHERE lower(t::text) LIKE '%' || $1 || '%'
                        OR lower(t::text) LIKE '%' || $2 || '%' LIMIT 1
                    """,
                    [.text(id.lowercased()), .text(bytes)]
                )
                if !rows.isEmpty { found.append(name) }
            }
            return found
        }
        await database.close()
        return found
    }

    /// The files of the data folder, and the log, in which an id stands.
    func files(holding id: String) throws -> [String] {
        let needle = Data(id.lowercased().utf8)
        var found: [String] = []
        let names = FileManager.default.enumerator(atPath: folder)
        while let name = names?.nextObject() as? String {
            if name == "postgres" {
                names?.skipDescendants()
                continue
            }
            let path = folder + "/" + name
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
                !isFolder.boolValue, let bytes = FileManager.default.contents(atPath: path)
            else { continue }
            let text = String(decoding: bytes, as: UTF8.self).lowercased()
            if bytes.range(of: needle) != nil || text.contains(id.lowercased()) {
                found.append(name)
            }
        }
        if log.lowercased().contains(id.lowercased()) { found.append("the log") }
        return found
    }
}
