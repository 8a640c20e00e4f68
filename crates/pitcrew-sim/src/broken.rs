//! Reports a broken invariant by a panic payload that the runner of the schedule catches.

use std::{any::Any, panic::resume_unwind};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name, the same for every schedule that breaks it.
    pub invariant: String,
    pub detail: String,
}

/// Ends the schedule. Not a panic with a message: the runner prints the report.
pub fn throw(invariant: &str, detail: String) -> ! {
    resume_unwind(Box::new(Broken { invariant: invariant.into(), detail }))
}

/// Throws if the condition is false.
macro_rules! hold {
    ($condition:expr, $invariant:literal, $($detail:tt)+) => {
        if !$condition {
            $crate::broken::throw($invariant, format!($($detail)+));
        }
    };
}
pub(crate) use hold;

impl Broken {
    /// Returns the thrown invariant, or the panic of the product.
    pub fn from_payload(payload: Box<dyn Any + Send>) -> Self {
        let payload = match payload.downcast::<Self>() {
            Ok(broken) => return *broken,
            Err(payload) => payload,
        };
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let detail = text.unwrap_or_else(|| "it panicked without words".into());
        Self { invariant: "the product does not panic".into(), detail }
    }
}
