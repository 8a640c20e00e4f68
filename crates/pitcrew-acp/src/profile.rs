//! What is known of a backend before its agent has said a word.

/// How the agents of a backend are driven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What people call it. Shown where the agent does not say its name.
    pub title: Option<String>,
    /// The permission mode that a session is set to; the agent's own choice where absent.
    pub mode: Option<String>,
    /// The model that a session is set to; the agent's own choice where absent.
    pub model: Option<String>,
}
