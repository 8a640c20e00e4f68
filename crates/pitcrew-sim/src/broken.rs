//! How a broken invariant is reported: thrown, and caught where the schedule is run.

use std::{any::Any, panic::resume_unwind};

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name, the same for every schedule that breaks it.
    pub invariant: String,
    pub detail: String,
}

/// Ends the schedule. Not a panic: whoever runs it prints what is to be read.
pub fn throw(invariant: &str, detail: String) -> ! {
    resume_unwind(Box::new(Broken { invariant: invariant.into(), detail }))
}

/// Throws when the condition does not hold.
macro_rules! hold {
    ($condition:expr, $invariant:literal, $($detail:tt)+) => {
        if !$condition {
            $crate::broken::throw($invariant, format!($($detail)+));
        }
    };
}
pub(crate) use hold;

impl Broken {
    /// What was thrown, or why the product itself panicked.
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
