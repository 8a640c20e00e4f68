//! Which of two credentials counts: the user's, or the copy of an agent.

use pitcrew_config::Credential;

/// A credential and when its file was written.
#[derive(Clone, Debug)]
pub struct Known {
    pub credential: Credential,
    pub written_ms: u64,
}

/// What is to be done about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are the same.
    Same,
    /// The agent has refreshed: the user's file becomes what the copy is.
    Take(Why),
    /// The user's is newer: the copy becomes what it is.
    Give(Why),
    Leave(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Only this one has changed.
    Changed,
    /// Both have changed, and this one is the later.
    Later,
}

/// Why a copy that has changed is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It holds no credential any more, or lacks a login that the user's has.
    Blank,
    /// It expires before the user's.
    Older,
    /// It is a text that nobody can check.
    Unchecked,
    /// More than its tokens has changed: it is of another account, or says so.
    OtherAccount,
    /// Nothing in the user's says whose login it is, so nothing can be compared.
    NoAccount,
    /// The user has logged out, or nobody was logged in.
    NoLogin,
}

/// Judges a copy that was made from the user's credential with the digest `from`. Absent: there is
/// no such file, or it holds no credential.
///
/// The user's is never given up for one that is blank, cut off, older, or of another account, whoever
/// wrote it.
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

/// Whether the copy is the later one. Where nobody can tell, it is the user's.
fn is_later(copy: &Known, user: &Known) -> bool {
    match (copy.credential.expires_at_ms, user.credential.expires_at_ms) {
        (Some(copy), Some(user)) if copy != user => copy > user,
        (Some(_) | None, Some(_) | None) => copy.written_ms > user.written_ms,
    }
}

#[cfg(test)]
mod tests;
