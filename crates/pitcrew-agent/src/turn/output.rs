//! Streams the output of a running command: often enough to follow it, rarely enough not to fill
//! the record of the conversation.

use pitcrew_model::{limits, text};
use std::{
    convert::Infallible,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The end of the output so far. One thread writes it, another one reports it.
#[derive(Default)]
pub(super) struct Output {
    written: Mutex<Written>,
    grown: Notify,
}

impl Output {
    pub fn push(&self, bytes: &[u8]) {
        self.written().push(bytes);
        self.grown.notify_one();
    }

    /// Passes the end of the output to `tell` whenever it changes, forever.
    ///
    /// The protocol requires the full text in each update. So the pauses grow with the running
    /// time, which bounds the total size.
    pub async fn tell(&self, mut tell: impl FnMut(&str)) -> Infallible {
        let began = Instant::now();
        let mut seen = String::new();
        loop {
            self.grown.notified().await;
            let shown = self.written().shown().to_owned();
            if shown.trim_end() == seen.trim_end() {
                continue;
            }
            tell(&shown);
            seen = shown;
            sleep_until(Instant::now() + pause(began.elapsed())).await;
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pause(running: Duration) -> Duration {
    Duration::from_millis(limits::ACTIVITY_MS_MIN).max(running / 100)
}

#[derive(Default)]
struct Written {
    text: String,
    /// An incomplete character.
    begun: Vec<u8>,
}

impl Written {
    fn push(&mut self, bytes: &[u8]) {
        let mut bytes_all = std::mem::take(&mut self.begun);
        bytes_all.extend_from_slice(bytes);
        let mut rest = bytes_all.as_slice();
        for chunk in bytes_all.utf8_chunks() {
            self.text.push_str(chunk.valid());
            rest = &rest[chunk.valid().len() + chunk.invalid().len()..];
            if chunk.invalid().is_empty() {
                continue;
            }
            if rest.is_empty() && is_begun(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        if self.text.len() > 4 * limits::OUTPUT_TAIL_BYTES {
            self.text = text::tail(&self.text, limits::OUTPUT_TAIL_BYTES).to_owned();
        }
    }

    fn shown(&self) -> &str {
        text::tail(&self.text, limits::OUTPUT_TAIL_BYTES)
    }
}

/// Whether more bytes could complete a character.
fn is_begun(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]]) -> String {
        let mut written = Written::default();
        for piece in pieces {
            written.push(piece);
        }
        written.shown().to_owned()
    }

    #[test]
    fn characters_are_never_split() {
        let text = "grün 日本 🏁";
        for at in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(at);
            assert_eq!(written(&[first, second]), text);
            assert!(text.starts_with(&written(&[first])), "half a character at {at}");
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(&single), text);
    }

    #[test]
    fn invalid_utf_8_is_marked() {
        assert_eq!(written(&[b"a\xffb\xe6\x97", b"c\xe6"]), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_flood_is_bounded_and_its_end_is_kept() {
        let mut written = Written::default();
        for _ in 0..1_000 {
            written.push("日本語 ".repeat(1_000).as_bytes());
        }
        written.push(b"the end\n\n");
        assert!(written.text.len() <= 4 * limits::OUTPUT_TAIL_BYTES);
        assert!(written.shown().len() <= limits::OUTPUT_TAIL_BYTES);
        assert!(written.shown().ends_with("日本語 the end\n\n"));
    }

    #[tokio::test]
    async fn a_flood_is_reported_rarely_and_its_end_is_kept() {
        let output = Output::default();
        let newest = Notify::new();
        let mut seen = Vec::new();
        let began = Instant::now();
        let tell = output.tell(|shown| {
            seen.push(shown.to_owned());
            if shown.ends_with("the end\n") {
                newest.notify_one();
            }
        });
        let flood = async {
            while began.elapsed() < Duration::from_millis(2 * limits::ACTIVITY_MS_MIN) {
                output.push(b"more\n");
                tokio::task::yield_now().await;
            }
            output.push(b"the end\n");
            newest.notified().await;
        };
        tokio::select! {
            biased;
            never = tell => match never {},
            () = flood => {}
        }
        let pauses = began.elapsed().as_millis() / u128::from(limits::ACTIVITY_MS_MIN);
        assert!(seen.len() as u128 <= pauses + 1, "seen {} times", seen.len());
        assert_eq!(seen[0], "more\n", "the first output is reported at once");
    }

    #[test]
    fn a_week_long_command_has_a_small_record() {
        let (mut running, mut count) = (Duration::ZERO, 0);
        while running < Duration::from_millis(limits::TASK_TIMEOUT_MS_MAX) {
            running += pause(running);
            count += 1;
        }
        assert!(count * limits::OUTPUT_TAIL_BYTES < 8 * 1_024 * 1_024, "{count} times");
    }
}
