//! Synchronizes the copies of a credential and the user's own. Requires the backend's lock.

use super::{
    files::{self, UserFile, written_ms},
    record::{Copied, Record},
    verdict::{Fault, Known, Verdict, Why, judge},
};
use pitcrew_config::{Credential, LoginFormat, for_agent};
use pitcrew_model::AttemptId;
use pitcrew_process::Content;
use std::{io, path::Path};

/// An empty or broken file may be one that its agent is writing.
const WRITING_MS_MAX: u64 = 1_000;

/// The logins of one attempt during a round.
#[derive(Clone)]
pub struct Entry {
    pub attempt: AttemptId,
    pub record: Record,
    /// Whether its agent has ended. Then it gets no more credentials.
    pub has_ended: bool,
}

/// The results of a round.
#[derive(Default)]
pub struct Done {
    /// For the log.
    pub notes: Vec<String>,
    /// Problems that may persist in the next round.
    pub complaints: Vec<(AttemptId, String)>,
    /// The attempts that need a retry.
    pub undone: Vec<AttemptId>,
}

/// Copies back what agents have refreshed, then distributes the newest to all others.
pub fn in_step(entries: &mut [Entry], now_ms: u64) -> Done {
    let mut done = Done::default();
    // A refreshed copy is new for the entries before it. Carrying out a verdict settles its copy,
    // so only a copy that replaced the user's file can cause another round.
    for _ in 0..=entries.len() {
        let mut is_taken = false;
        done.undone.clear();
        done.complaints.clear();
        for entry in &mut *entries {
            for index in 0..entry.record.copies.len() {
                is_taken |= settle(entry, index, now_ms, &mut done);
            }
        }
        if !is_taken {
            break;
        }
    }
    done
}

/// Returns whether the user's file was replaced.
fn settle(entry: &mut Entry, index: usize, now_ms: u64, done: &mut Done) -> bool {
    let Entry { attempt, record, has_ended } = entry;
    let Copied { user, copy, from } = &mut record.copies[index];
    let who = format!("the login of {} ({attempt})", record.backend);
    let of_user = UserFile::open(user);
    let (of_copy, unreadable) = match files::read_copy(&record.home, copy) {
        Ok(content) => (Some(content), None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
        Err(error) => (None, Some(error)),
    };
    let of_user = of_user.as_ref();
    let users = known(of_user.map(|it| &it.content), &record.format);
    let copys = known(of_copy.as_ref(), &record.format);
    let digest = |it: &Option<Known>| it.as_ref().map(|it| it.credential.digest.clone());
    match judge(users.as_ref(), copys.as_ref(), from) {
        Verdict::Same => *from = digest(&users).unwrap_or_default(),
        Verdict::Take(why) => {
            let bytes = of_copy.map(|it| it.bytes).unwrap_or_default();
            let taken =
                of_user.ok_or(io::ErrorKind::NotFound.into()).and_then(|it| it.replace(&bytes));
            if let Err(error) = taken {
                let place = user.display();
                let what =
                    format!("{who} was refreshed but could not be copied back to {place}: {error}");
                done.complaints.push((*attempt, what));
                done.undone.push(*attempt);
                return false;
            }
            *from = digest(&copys).unwrap_or_default();
            done.notes.push(format!("{who} was refreshed and copied back{}", words(why)));
            return true;
        }
        Verdict::Give(_) if *has_ended => {}
        Verdict::Give(_) if copys.is_none() && is_being_written(of_copy.as_ref(), now_ms) => {
            done.undone.push(*attempt);
        }
        Verdict::Give(why) => {
            let bytes = of_user.map(|it| it.content.bytes.as_slice()).unwrap_or_default();
            let bytes = given(bytes, &record.format, record.sooner_ms, now_ms);
            match files::write_copy(&record.home, copy, &bytes) {
                Ok(()) => {
                    *from = digest(&users).unwrap_or_default();
                    done.notes.push(format!("{who} was updated from the user's{}", words(why)));
                }
                Err(error) => {
                    done.complaints
                        .push((*attempt, format!("{who} could not be updated: {error}")));
                    done.undone.push(*attempt);
                }
            }
        }
        // The file may contain a login again soon, so the copy may be needed.
        Verdict::Leave(Fault::NoLogin)
            if is_being_written(of_user.map(|it| &it.content), now_ms) =>
        {
            done.undone.push(*attempt);
        }
        Verdict::Leave(fault) => {
            let what = unreadable.map_or_else(
                || complaint(fault).map(str::to_owned),
                |error| Some(format!("could not be read and was not copied back: {error}")),
            );
            done.complaints.extend(what.map(|it| (*attempt, format!("{who} {it}"))));
        }
    }
    false
}

fn known(content: Option<&Content>, format: &LoginFormat) -> Option<Known> {
    let content = content?;
    let credential = Credential::read(&content.bytes, format)?;
    Some(Known { credential, written_ms: written_ms(&content.metadata) })
}

fn words(why: Why) -> &'static str {
    match why {
        Why::Changed => "",
        Why::Later => ": both had changed, and it is the newer one",
    }
}

fn complaint(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Blank => Some("no longer contains a login; the user's is unchanged"),
        Fault::Older => Some("has changed and expires before the user's, which is unchanged"),
        Fault::Unchecked => Some("has changed and cannot be checked; the user's is unchanged"),
        Fault::OtherAccount => Some(
            "was not copied back: more than its tokens has changed, so it may belong to another account",
        ),
        Fault::NoAccount => Some(
            "was not copied back: it has changed, and the user's file does not name the account",
        ),
        Fault::NoLogin => None,
    }
}

fn is_being_written(file: Option<&Content>, now_ms: u64) -> bool {
    file.is_some_and(|it| now_ms.saturating_sub(written_ms(&it.metadata)) < WRITING_MS_MAX)
}

/// Writes the first copy of a credential into a private home; returns the digest of the original.
pub fn put(user: &Path, copy: &Path, record: &Record, now_ms: u64) -> io::Result<String> {
    let Some(user) = UserFile::open(user) else { return Ok(String::new()) };
    let bytes = &user.content.bytes;
    let Some(credential) = Credential::read(bytes, &record.format) else {
        return Ok(String::new());
    };
    let bytes = given(bytes, &record.format, record.sooner_ms, now_ms);
    files::write_copy(&record.home, copy, &bytes)?;
    Ok(credential.digest)
}

/// A credential as an agent sees it: it expires earlier than for the user, and at a different time
/// than for every other agent.
///
/// A credential that is about to expire appears expired, so that the agent refreshes it at once and
/// not at the same time as others. Otherwise at least half of the remaining time is kept.
fn given(bytes: &[u8], format: &LoginFormat, sooner_ms: u64, now_ms: u64) -> Vec<u8> {
    let time = Credential::read(bytes, format).and_then(|it| it.expires_at_ms);
    let time = time.filter(|it| *it > now_ms).map(|time| {
        let is_soon = time < now_ms + super::refresh_queue::SOON_MS;
        if is_soon { now_ms } else { time - sooner_ms.min((time - now_ms) / 2) }
    });
    for_agent(bytes, format, time)
}

#[cfg(test)]
mod tests;
