//! Checks tokens.
use std::{fmt, collections::{BTreeMap, HashMap as Map}, io::{self, Read}};
use crate::core::*;
pub use self::token::Token as Ticket;
extern crate alloc;

mod token;

/// How long a token lives.
pub const LIFETIME_MS: u64 = 60_000; // a minute
/// This belongs to the static.
pub(crate) static NAMES: &[&str] = &["a", "b"];

/// Validates tokens.
///
/// Slowly.
#[derive(Debug)]
pub struct AuthValidator<'a, T: Clone = u8> {
    /// The key.
    pub key: &'a str,
    cache: BTreeMap<String, T>, // grows
}

pub struct Id(pub u64, String);
struct Unit;

/** Why not. */
pub enum Refusal {
    Expired { at: u64 },
    Forged(String),
    #[doc(hidden)]
    Other = 3,
}

pub trait Validate<T>: Send + Sync {
    type Error;
    const LIMIT: usize = 3;
    /// Validates.
    fn validate(&self, token: &Token) -> Result<T, Self::Error>;
    fn name(&self) -> &str { "x" }
}

impl<'a, T> Validate<T> for AuthValidator<'a, T>
where
    T: Clone,
{
    fn validate(&self, token: &Token) -> Result<T, Refusal> {
        fn inner() {}
        inner();
        todo()
    }
}

impl<T: Clone> AuthValidator<'_, T> {
    /// Makes one.
    pub const fn new(
        key: &str,
        // how many
        size: usize,
    ) -> Self
    where
        T: Default,
    {
        Self {}
    }
    async unsafe fn helper(self: Arc<Self>) {}
}

mod inner {
    pub(super) fn helper() {}
    pub mod deeper {
        pub fn f() {}
    }
}

#[macro_export]
macro_rules! check {
    ($a:expr) => { $a };
    ($a:expr, $b:ty) => { $a };
}

pub type Result<T, E = Refusal> = std::result::Result<T, E>;
extern "C" {
    fn getpid() -> i32;
}
pub union Bits { f: f32, u: u32 }

pub fn r#ref(r#type: u8) -> u8 {
    r#type
}
