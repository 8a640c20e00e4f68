const std = @import("std");
const token = @import("core/token.zig");

/// How long a token lives.
pub const lifetime_ms: u64 = 60_000;
var counter: usize = 0;

/// Validates tokens.
pub const AuthValidator = struct {
    key: []const u8,
    cache: ?*Cache = null,

    /// Makes one.
    pub fn init(allocator: std.mem.Allocator, key: []const u8) !AuthValidator {
        return .{ .key = key };
    }
    fn hidden(self: *AuthValidator) void {
        _ = self;
    }
    pub const Mode = enum { fast, slow };
};

pub const Reason = error{ Expired, Forged };
pub const Value = union(enum) { int: i64, none };
pub fn Stack(comptime T: type) type {
    return struct { items: []T };
}
