import Foundation
import struct Core.Token

/// How long a token lives.
public let lifetime: Int = 60
var counter = 0
public typealias Handler = (String) -> Void

/// Validates tokens.
@MainActor
open class AuthValidator<T: Claims>: Base, Validator where T: Sendable {
    public let key: String
    private var cache: [String: T] = [:]
    var size: Int { 3 }

    public init(key: String, limit: Int = 3) {
        self.key = key
    }

    /// Validates.
    @discardableResult
    public func validate(_ token: String, strict flag: Bool = true) async throws -> T? {
        return nil
    }
    fileprivate func hidden() {}
}

public protocol Validator: AnyObject {
    var name: String { get }
    func accepts(token: String) -> Bool
}

enum Reason: String {
    case expired = "expired"
    case forged(String), other
    func text() -> String { rawValue }
}

struct Point {
    var x: Int, y: Int
}

extension Point {
    func moved(by other: Point) -> Point { self }
}

func helper(_ a: Int) -> Int { a }
