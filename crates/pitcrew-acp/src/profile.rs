//! What is known of a backend before its agent has said a word.

use crate::PriceList;

/// How the agents of a backend are driven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What people call it. Shown where the agent does not say its name.
    pub title: Option<String>,
    /// The permission mode that a session is set to; the agent's own choice where absent.
    pub mode: Option<String>,
    /// The model that a session is set to; the agent's own choice where absent.
    pub model: Option<String>,
    /// The category or the id of the option that chooses the model, where it is not `model`.
    pub model_option: Option<String>,
    /// How its errors are known; the first that fits holds.
    pub errors: Vec<ErrorRule>,
    /// How a line of its error output is known that says what it waits out by itself: by these parts
    /// in their order, with `*` between them.
    pub log_errors: Vec<ErrorRule>,
    /// What each line of its error output has that tells of its turns; where absent, all of them may.
    pub log_turn: Option<String>,
    pub usage: UsageScope,
    /// The method that it tells the totals of a session by, where it has one of its own.
    pub usage_method: Option<String>,
    /// What its tokens cost, where it does not say it.
    pub prices: PriceList,
}

/// What the tokens are the sum of that an agent tells at the end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageScope {
    #[default]
    Turn,
    /// All turns so far.
    Session,
    /// The last call of the model only.
    Call,
}

/// How trouble of a backend is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// A number is the code of an error that the agent answers with, a text a part of its message,
    /// in any case. Where the agent says that the turn ended well, a text is what its last message,
    /// or a line of the last paragraph of it, begins with, letter by letter; a single word is a mark
    /// that the agent sets.
    pub says: String,
    pub kind: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody is logged in, the key is refused, or it is not paid for: waiting does not help.
    Auth,
    /// A limit of the provider.
    Quota,
    /// The model failed.
    Model,
}
