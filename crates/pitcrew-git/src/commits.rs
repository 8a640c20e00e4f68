//! Commits of a landing as text: written anew with another message, and compared with what a person
//! has signed.

use crate::{Vault, error::GitError, git::Call, git_dir::Identity};
use pitcrew_model::{CommitId, Failure};
use pitcrew_process::Cancel;
use std::{collections::BTreeMap, fmt::Write};

/// A commit without its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) tree: String,
    pub(crate) parents: Vec<CommitId>,
    pub(crate) author: String,
    pub(crate) committer: String,
    /// Other headers, such as an encoding. Pitcrew writes none.
    others: Vec<String>,
    pub(crate) message: String,
}

/// Whether a commit contains a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    None,
    There,
}

impl Commit {
    /// Parses the text of a commit. `None` if it is not one.
    pub(crate) fn parse(text: &str) -> Option<(Self, Signature)> {
        let (headers, message) = text.split_once("\n\n")?;
        let (mut tree, mut author, mut committer) = (None, None, None);
        let (mut parents, mut others, mut signature) = (Vec::new(), Vec::new(), Signature::None);
        let mut is_signature = false;
        for line in headers.lines() {
            if line.starts_with(' ') {
                if !is_signature {
                    others.push(line.to_owned());
                }
                continue;
            }
            let (name, value) = line.split_once(' ')?;
            is_signature = matches!(name, "gpgsig" | "gpgsig-sha256");
            match name {
                "tree" => tree = Some(value.to_owned()),
                "parent" => parents.push(CommitId(value.to_owned())),
                "author" => author = Some(value.to_owned()),
                "committer" => committer = Some(value.to_owned()),
                _ if is_signature => signature = Signature::There,
                _ => others.push(line.to_owned()),
            }
        }
        let (tree, author, committer, message) = (tree?, author?, committer?, message.to_owned());
        Some((Self { tree, parents, author, committer, others, message }, signature))
    }

    /// The text of the commit, as git stores it.
    fn text(&self) -> String {
        let mut text = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            writeln!(text, "parent {parent}").expect("a string takes everything");
        }
        write!(text, "author {}\ncommitter {}\n", self.author, self.committer)
            .expect("a string takes everything");
        for line in &self.others {
            writeln!(text, "{line}").expect("a string takes everything");
        }
        format!("{text}\n{}", self.message)
    }

    /// The same commit on top of other parents.
    pub(crate) fn onto(&self, moved: &BTreeMap<CommitId, CommitId>) -> Self {
        let parent = |it: &CommitId| moved.get(it).unwrap_or(it).clone();
        Self { parents: self.parents.iter().map(parent).collect(), ..self.clone() }
    }
}

/// Reads a commit with this call of `git cat-file`.
pub(crate) fn read_commit(
    call: Call<'_>,
    commit: &CommitId,
    cancel: &Cancel,
) -> Result<(Commit, Signature), GitError> {
    let answer = call.args(["commit", &commit.0]).finish(cancel)?;
    if !answer.finished.success() {
        return Err(answer.error());
    }
    let text = std::str::from_utf8(&answer.finished.stdout).ok();
    let commit = text.and_then(Commit::parse);
    commit.ok_or_else(|| answer.unreadable("it is not a commit in UTF-8"))
}

/// The commits up to `end` that none of `below` contains, parents first. Calls `git rev-list`.
pub(crate) fn new_commits(
    call: Call<'_>,
    end: &CommitId,
    below: &[CommitId],
    cancel: &Cancel,
) -> Result<Vec<CommitId>, GitError> {
    let call = call.args(["--reverse", "--topo-order", "--ignore-missing", &end.0]);
    let call = call.args(below.iter().map(|it| format!("^{it}")));
    let lines = String::from_utf8_lossy(&call.output(cancel)?).into_owned();
    Ok(lines.lines().map(|it| CommitId(it.to_owned())).collect())
}

impl Vault {
    pub(crate) fn commit_text(
        &self,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<(Commit, Signature), GitError> {
        read_commit(self.call("cat-file"), commit, cancel)
    }

    /// Writes the commits up to `end` anew, with these messages. Returns the last of them.
    pub(crate) fn with_messages(
        &self,
        end: &CommitId,
        messages: &BTreeMap<CommitId, String>,
        commits: &[CommitId],
        cancel: &Cancel,
    ) -> Result<CommitId, GitError> {
        let mut moved = BTreeMap::new();
        for id in commits {
            let before = self.commit_text(id, cancel)?.0;
            let mut commit = before.onto(&moved);
            if let Some(message) = messages.get(id) {
                commit.message = format!("{}\n", message.trim());
            }
            if commit != before {
                let call = self.call("hash-object").args(["-t", "commit", "-w", "--stdin"]);
                moved.insert(id.clone(), call.stdin(commit.text()).object(cancel)?);
            }
        }
        Ok(moved.get(end).unwrap_or(end).clone())
    }

    /// Checks that the commits up to `signed` are those up to `end` with signatures, and nothing
    /// else is different. Returns what is different.
    pub(crate) fn compare_signed(
        &self,
        end: &CommitId,
        signed: &CommitId,
        commits: &[CommitId],
        cancel: &Cancel,
    ) -> Result<Result<(), String>, GitError> {
        let mut pairs = BTreeMap::from([(end.clone(), signed.clone())]);
        // Children first, so that the partner of each commit is known when its turn comes.
        for id in commits.iter().rev() {
            let Some(partner) = pairs.get(id).cloned() else { continue };
            let (prepared, _) = self.commit_text(id, cancel)?;
            let (found, signature) = self.commit_text(&partner, cancel)?;
            if signature == Signature::None {
                return Ok(Err(format!("{} has no signature", partner.short())));
            }
            for (ours, theirs) in prepared.parents.iter().zip(&found.parents) {
                if commits.contains(ours) {
                    pairs.insert(ours.clone(), theirs.clone());
                }
            }
            if prepared.onto(&pairs) != found {
                return Ok(Err(format!(
                    "{} is not {} with a signature",
                    partner.short(),
                    id.short()
                )));
            }
        }
        Ok(Ok(()))
    }

    /// Whether the user's git signs commits.
    pub(crate) fn user_signs(&self, cancel: &Cancel) -> Result<bool, GitError> {
        let call = self.user.call("config").args(["--type=bool", "--get", "commit.gpgSign"]);
        Ok(call.maybe(cancel)?.as_deref() == Some("true"))
    }

    /// Takes over the commits that the user has signed, if they are these. Returns what is different
    /// otherwise.
    pub(crate) fn take_signed(
        &self,
        name: &str,
        (end, signed): (&CommitId, &CommitId),
        commits: &[CommitId],
        cancel: &Cancel,
    ) -> Result<Result<(), String>, Failure> {
        if !signed.0.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Ok(Err(format!("`{signed}` does not name a commit")));
        }
        self.bring(signed, name, cancel)?;
        let compared = self.compare_signed(end, signed, commits, cancel)?;
        self.delete_ref(name)?;
        Ok(compared)
    }

    /// The user's name and e-mail address from their git settings.
    pub(crate) fn user_identity(
        &self,
        cancel: &Cancel,
    ) -> Result<Option<(String, String)>, GitError> {
        let get = |key| self.user.call("config").args(["--get", key]).maybe(cancel);
        Ok(match (get("user.name")?, get("user.email")?) {
            (Some(name), Some(email)) if !name.trim().is_empty() => Some((name, email)),
            _ => None,
        })
    }
}

/// The parts of an author or committer: name, address, and date in git's raw form.
pub(crate) fn identity_and_date(line: &str) -> Option<(Identity<'_>, &str)> {
    let (name, rest) = line.split_once(" <")?;
    let (email, date) = rest.split_once("> ")?;
    Some((Identity { name, email }, date))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str = "tree 1111\nparent 2222\nauthor Ada L <ada@example.org> 1700000000 +0100\n\
                          committer Ada L <ada@example.org> 1700000000 +0100\n\
                          gpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----\n\
                          \nsubject\n\nbody\n\nmore\n";

    #[test]
    fn signature_is_not_part_of_the_content() {
        let (commit, signature) = Commit::parse(SIGNED).expect("a commit");
        assert_eq!(signature, Signature::There);
        let (plain, signature) = Commit::parse(&commit.text()).expect("a commit");
        assert_eq!((&plain, signature), (&commit, Signature::None));
        assert_eq!(commit.message, "subject\n\nbody\n\nmore\n");
        let (identity, date) = identity_and_date(&commit.author).expect("an author");
        assert_eq!((identity.name, identity.email), ("Ada L", "ada@example.org"));
        assert_eq!(date, "1700000000 +0100");
    }

    #[test]
    fn another_header_makes_another_commit() {
        let with = SIGNED.replacen("gpgsig", "encoding latin1\ngpgsig", 1);
        let (other, _) = Commit::parse(&with).expect("a commit");
        assert_ne!(other, Commit::parse(SIGNED).expect("a commit").0);
        assert!(other.text().contains("\nencoding latin1\n"), "{}", other.text());
    }
}
