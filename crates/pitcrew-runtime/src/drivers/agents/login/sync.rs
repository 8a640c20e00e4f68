//! Brings the copies of a credential and the user's own in step. The lock of the backend is held.

use super::{
    files,
    record::{Copied, Record},
    verdict::{Fault, Known, Verdict, Why, judge},
};
use pitcrew_config::{Credential, told_to_expire_at};
use pitcrew_model::AttemptId;
use std::path::Path;

/// A file that is empty or broken may be one that its agent is writing.
const WRITING_MS_MAX: u64 = 1_000;

/// The logins of one attempt, on the way through a round.
#[derive(Clone)]
pub struct Entry {
    pub attempt: AttemptId,
    pub record: Record,
    /// Its agent has ended: it is given nothing any more.
    pub has_ended: bool,
}

/// What a round has done.
#[derive(Default)]
pub struct Done {
    /// For the log.
    pub notes: Vec<String>,
    /// What is not as it should be, and may still be so after the next round.
    pub complaints: Vec<(AttemptId, String)>,
    /// The attempts for which something could not be done yet.
    pub undone: Vec<AttemptId>,
}

/// Takes what agents have refreshed, then gives what is newest to all others.
pub fn in_step(entries: &mut [Entry], now_ms: u64) -> Done {
    let mut done = Done::default();
    // What one has refreshed is news for those before it. A verdict settles its matter, so each
    // further round can only be caused by a copy that was taken.
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

/// Whether the user's file was replaced.
fn settle(entry: &mut Entry, index: usize, now_ms: u64, done: &mut Done) -> bool {
    let Entry { attempt, record, has_ended } = entry;
    let Copied { user, copy, from } = &mut record.copies[index];
    let (of_user, of_copy) = (files::read(user), files::read_own(copy));
    let known = |it: &Option<(Vec<u8>, u64)>| {
        let (bytes, written_ms) = it.as_ref()?;
        let credential = Credential::read(bytes, &record.expires)?;
        Some(Known { credential, written_ms: *written_ms })
    };
    let (users, copys) = (known(&of_user), known(&of_copy));
    let digest = |it: &Option<Known>| it.as_ref().map(|it| it.credential.digest.clone());
    let who = format!("the login of {} ({attempt})", record.backend);
    match judge(users.as_ref(), copys.as_ref(), from) {
        Verdict::Same => *from = digest(&users).unwrap_or_default(),
        Verdict::Take(why) => {
            let bytes = of_copy.map(|it| it.0).unwrap_or_default();
            if let Err(error) = files::replace(user, &bytes) {
                let place = user.display();
                let what =
                    format!("{who} was refreshed and cannot be taken back to {place}: {error}");
                done.complaints.push((*attempt, what));
                done.undone.push(*attempt);
                return false;
            }
            *from = digest(&copys).unwrap_or_default();
            done.notes.push(format!("{who} was refreshed and taken back{}", words(why)));
            return true;
        }
        Verdict::Give(_) if *has_ended => {}
        Verdict::Give(_) if copys.is_none() && is_being_written(of_copy.as_ref(), now_ms) => {
            done.undone.push(*attempt);
        }
        Verdict::Give(why) => {
            let bytes = of_user.map(|it| it.0).unwrap_or_default();
            match files::write_private(
                copy,
                &told(&bytes, &record.expires, record.sooner_ms, now_ms),
            ) {
                Ok(()) => {
                    *from = digest(&users).unwrap_or_default();
                    done.notes.push(format!("{who} is what the user's has become{}", words(why)));
                }
                Err(error) => {
                    done.complaints.push((*attempt, format!("{who} cannot be renewed: {error}")));
                    done.undone.push(*attempt);
                }
            }
        }
        // One moment later it may be a login, and the copy be worth something.
        Verdict::Leave(Fault::NoLogin) if is_being_written(of_user.as_ref(), now_ms) => {
            done.undone.push(*attempt);
        }
        Verdict::Leave(fault) => {
            let what = complaint(fault).map(|it| (*attempt, format!("{who} {it}")));
            done.complaints.extend(what);
        }
    }
    false
}

fn words(why: Why) -> &'static str {
    match why {
        Why::Changed => "",
        Why::Later => ": both had changed, and it is the later one",
    }
}

fn complaint(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Blank => Some("holds no login any more; the user's stays as it is"),
        Fault::Older => Some("has changed and expires before the user's, which stays as it is"),
        Fault::Unchecked => Some("has changed and cannot be checked; the user's stays as it is"),
        Fault::NoLogin => None,
    }
}

fn is_being_written(file: Option<&(Vec<u8>, u64)>, now_ms: u64) -> bool {
    file.is_some_and(|(_, written_ms)| now_ms.saturating_sub(*written_ms) < WRITING_MS_MAX)
}

/// Puts the first copy of a credential into a private home; the digest of what it was made from.
pub fn put(user: &Path, copy: &Path, record: &Record, now_ms: u64) -> std::io::Result<String> {
    let Some((bytes, _)) = files::read(user) else { return Ok(String::new()) };
    let Some(credential) = Credential::read(&bytes, &record.expires) else {
        return Ok(String::new());
    };
    files::write_private(copy, &told(&bytes, &record.expires, record.sooner_ms, now_ms))?;
    Ok(credential.digest)
}

/// A credential as an agent gets to see it: it believes that it has to refresh sooner than the
/// user, and sooner or later than every other agent.
///
/// What is about to expire has expired for it, so that it refreshes at once and not when others
/// do. Otherwise at least a half of the time that is left remains.
fn told(bytes: &[u8], expires: &[String], sooner_ms: u64, now_ms: u64) -> Vec<u8> {
    let time = Credential::read(bytes, expires).and_then(|it| it.expires_at_ms);
    let Some(time) = time.filter(|it| *it > now_ms) else { return bytes.to_owned() };
    if time < now_ms + super::turn::SOON_MS {
        return told_to_expire_at(bytes, expires, now_ms);
    }
    told_to_expire_at(bytes, expires, time - sooner_ms.min((time - now_ms) / 2))
}

#[cfg(test)]
mod tests;
