//! The properties of a backend.

use crate::PriceList;

/// How to drive the agents of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The display name, used if the agent does not report its name.
    pub title: Option<String>,
    /// The permission mode of a session. If absent, the agent's default.
    pub mode: Option<String>,
    /// The model of a session. If absent, the agent's default.
    pub model: Option<String>,
    /// The category or the id of the option that selects the model, if it is not `model`.
    pub model_option: Option<String>,
    /// Rules that classify its errors; the first match applies.
    pub errors: Vec<ErrorRule>,
    /// Rules for stderr lines about a silent wait: parts in order, separated by `*`.
    pub log_errors: Vec<ErrorRule>,
    /// Text that every stderr line about a turn contains. If absent, any line may be about a turn.
    pub log_turn: Option<String>,
    pub usage: UsageScope,
    /// The vendor-specific method that reports the totals of a session, if there is one.
    pub usage_method: Option<String>,
    /// The prices of its tokens, if it does not report its cost.
    pub prices: PriceList,
}

/// What the token counts at the end of a turn cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageScope {
    #[default]
    Turn,
    /// All turns so far.
    Session,
    /// The last model call only.
    Call,
}

/// A rule that recognizes an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// A number is the code of an error answer; a text is a part of its message, ignoring case. If
    /// the turn ended well according to the agent, the text must be the exact start of its last
    /// message or of a line of its last paragraph; a single word is a marker that the agent sets.
    pub says: String,
    pub kind: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No login, a rejected key or an unpaid account: waiting does not help.
    Auth,
    /// A limit of the provider.
    Quota,
    /// The provider cannot be reached.
    Unreachable,
    /// The model failed.
    Model,
}
