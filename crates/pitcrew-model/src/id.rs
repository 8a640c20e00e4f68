//! Ids are counters of the kernel's state: short, ordered and the same in every replay.

use alloc::string::String;
use core::{fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A text that is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id such as {wanted}-7")]
pub struct ParseIdError {
    pub text: String,
    pub wanted: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal $(, or $other:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "-{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix(concat!($prefix, "-"))
                    $(.or_else(|| text.strip_prefix(concat!($other, "-"))))?
                    .filter(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|it| it.parse().ok())
                    .map(Self)
                    .ok_or_else(|| ParseIdError { text: text.into(), wanted: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor(core::marker::PhantomData))
            }
        }
    };
}

/// Reads an id from a string without copying it.
struct IdVisitor<T>(core::marker::PhantomData<T>);

impl<T: FromStr<Err = ParseIdError>> de::Visitor<'_> for IdVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id such as task-7")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

id!(
    /// A set of tasks with dependencies.
    PlanId, "plan"
);
id!(
    /// One unit of work, stable across attempts. A task that a worker created is called a sub-task,
    /// and has an id of the same sequence.
    TaskId, "task", or "subtask"
);
id!(
    /// One attempt at a task. Also the idempotency key of its effects.
    AttemptId, "attempt"
);
id!(
    /// A running agent on one attempt, in one checkout.
    WorkerId, "worker"
);
id!(
    /// A request for a decision: a permission or a question.
    RequestId, "request"
);
id!(
    /// A message between two parties.
    MessageId, "message"
);
id!(
    /// A permission beyond one use.
    GrantId, "grant"
);
id!(
    /// A query about a symbol outside the sender's region.
    QueryId, "query"
);
id!(
    /// An effect. Numbered after the event that requested it: an event requests at most one.
    EffectId, "effect"
);

/// The position of an event in the journal. The first event has number 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The full hexadecimal name of a git commit in the vault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub String);

impl CommitId {
    /// Returns the first ten digits, for people.
    pub fn short(&self) -> &str {
        crate::text::cut(&self.0, 10)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// S0-133: all ids have the same form.
    #[test]
    fn ids_print_and_parse_in_one_form() {
        assert_eq!(TaskId(392).to_string(), "task-392");
        assert_eq!("task-392".parse(), Ok(TaskId(392)));
        for wrong in ["392", "task-", "task-x", "plan-392", "task-+1", "task--1", ""] {
            assert!(wrong.parse::<TaskId>().is_err(), "{wrong}");
        }
    }
}
