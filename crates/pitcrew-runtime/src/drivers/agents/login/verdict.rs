//! Decides which of two credentials is used: the user's, or the copy of an agent.

use pitcrew_config::Credential;

/// A credential and the time its file was written.
#[derive(Clone, Debug)]
pub struct Known {
    pub credential: Credential,
    pub written_ms: u64,
}

/// The action to take for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are equal.
    Same,
    /// The agent has refreshed it: the copy replaces the user's file.
    Take(Why),
    /// The user's is newer: it replaces the copy.
    Give(Why),
    Leave(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Only this one has changed.
    Changed,
    /// Both have changed, and this one is newer.
    Later,
}

/// Why a changed copy is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The copy contains no credential, or lacks a login that the user's file has.
    Blank,
    /// The copy expires before the user's credential.
    Older,
    /// The copy is text in an unknown format.
    Unchecked,
    /// More than its tokens has changed: it belongs to another account, or claims to.
    OtherAccount,
    /// The user's file does not name its account, so the two cannot be compared.
    NoAccount,
    /// The user has logged out, or was never logged in.
    NoLogin,
}

/// Judges a copy that was made from the user's credential with the digest `from`. `None` means that
/// there is no such file, or that it contains no credential.
///
/// The user's credential is never replaced by one that is empty, truncated, older, or of another
/// account.
pub fn judge(user: Option<&Known>, copy: Option<&Known>, from: &str) -> Verdict {
    let (Some(user), copy) = (user, copy) else { return Verdict::Leave(Fault::NoLogin) };
    let is_new = user.credential.digest != from;
    let Some(copy) = copy else {
        return if is_new { Verdict::Give(Why::Changed) } else { Verdict::Leave(Fault::Blank) };
    };
    if copy.credential.digest == user.credential.digest {
        Verdict::Same
    } else if copy.credential.digest == from {
        Verdict::Give(Why::Changed)
    } else if is_new {
        let wins = is_later(copy, user) && fault(copy, user).is_none();
        if wins { Verdict::Take(Why::Later) } else { Verdict::Give(Why::Later) }
    } else {
        fault(copy, user).map_or(Verdict::Take(Why::Changed), Verdict::Leave)
    }
}

/// Why the copy must not replace the user's.
fn fault(copy: &Known, user: &Known) -> Option<Fault> {
    let (copy, user) = (&copy.credential, &user.credential);
    let is_older = match (copy.expires_at_ms, user.expires_at_ms) {
        (Some(copy), Some(user)) => copy < user,
        (None, _) | (_, None) => false,
    };
    if !copy.keeps(user) {
        Some(Fault::Blank)
    } else if is_older {
        Some(Fault::Older)
    } else if !copy.is_understood {
        Some(Fault::Unchecked)
    } else if user.account.is_none() {
        Some(Fault::NoAccount)
    } else if copy.account != user.account {
        Some(Fault::OtherAccount)
    } else {
        None
    }
}

/// Whether the copy is newer. If unclear, the user's wins.
fn is_later(copy: &Known, user: &Known) -> bool {
    match (copy.credential.expires_at_ms, user.credential.expires_at_ms) {
        (Some(copy), Some(user)) if copy != user => copy > user,
        (Some(_) | None, Some(_) | None) => copy.written_ms > user.written_ms,
    }
}

#[cfg(test)]
mod tests;
