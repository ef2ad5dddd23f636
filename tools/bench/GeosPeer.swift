import Glibc

/// GEOS's own projection of a point onto a line, for comparison.
///
/// Loaded while running, so that neither the build nor the services need the library; without it
/// (`scripts/bootstrap --tests` installs it) there is no peer. GEOS works in the plane and answers how
/// far along the line the nearest place is; it knows no hint.
final class GeosPeer {
    private typealias Handle = OpaquePointer

    private let library: Library
    private let handle: Handle
    private let line: OpaquePointer

    /// Makes the line; nil without the library.
    ///
    /// - Parameter points: Its vertices, x before y.
    init?(_ points: [(x: Double, y: Double)]) {
        guard let library = Library(), let handle = library.start(),
            let sequence = library.makeSequence(handle, UInt32(points.count), 2)
        else { return nil }
        for (index, point) in points.enumerated() {
            _ = library.setXY(handle, sequence, UInt32(index), point.x, point.y)
        }
        guard let line = library.makeLine(handle, sequence) else { return nil }
        self.library = library
        self.handle = handle
        self.line = line
    }

    deinit {
        library.destroy(handle, line)
        library.finish(handle)
    }

    /// How far along the line the place nearest to a point is, in the unit of the points.
    func project(x: Double, y: Double) -> Double {
        guard let point = library.makePoint(handle, x, y) else { return .nan }
        defer { library.destroy(handle, point) }
        return library.project(handle, line, point)
    }

    /// The functions of `libgeos_c` that this needs, all of its reentrant interface.
    private struct Library {
        typealias Start = @convention(c) () -> Handle?
        typealias Finish = @convention(c) (Handle) -> Void
        typealias MakeSequence = @convention(c) (Handle, UInt32, UInt32) -> OpaquePointer?
        typealias SetXY =
            @convention(c) (Handle, OpaquePointer, UInt32, Double, Double) -> Int32
        typealias MakeLine = @convention(c) (Handle, OpaquePointer) -> OpaquePointer?
        typealias MakePoint = @convention(c) (Handle, Double, Double) -> OpaquePointer?
        typealias Project = @convention(c) (Handle, OpaquePointer, OpaquePointer) -> Double
        typealias Destroy = @convention(c) (Handle, OpaquePointer) -> Void

        let start: Start
        let finish: Finish
        let makeSequence: MakeSequence
        let setXY: SetXY
        let makeLine: MakeLine
        let makePoint: MakePoint
        let project: Project
        let destroy: Destroy

        init?() {
            guard let library = dlopen("libgeos_c.so.1", RTLD_NOW) else { return nil }
            func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
                dlsym(library, name).map { unsafeBitCast($0, to: type) }
            }
            guard let start = function("GEOS_init_r", Start.self),
                let finish = function("GEOS_finish_r", Finish.self),
                let makeSequence = function("GEOSCoordSeq_create_r", MakeSequence.self),
                let setXY = function("GEOSCoordSeq_setXY_r", SetXY.self),
                let makeLine = function("GEOSGeom_createLineString_r", MakeLine.self),
                let makePoint = function("GEOSGeom_createPointFromXY_r", MakePoint.self),
                let project = function("GEOSProject_r", Project.self),
                let destroy = function("GEOSGeom_destroy_r", Destroy.self)
            else { return nil }
            self.start = start
            self.finish = finish
            self.makeSequence = makeSequence
            self.setXY = setXY
            self.makeLine = makeLine
            self.makePoint = makePoint
            self.project = project
            self.destroy = destroy
        }
    }
}
