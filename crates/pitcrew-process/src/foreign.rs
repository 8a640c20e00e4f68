//! Bytes from a socket, a file or an agent: none of them cause a panic, and messages that we wrote
//! parse back unchanged.

use crate::{
    shim::{ExitRecord, Line, Lines, Order, Report, ShimSpec, encode, read_exit},
    tree,
};
use pitcrew_model::{Exit, limits::OUTPUT_TAIL_BYTES};
use pitcrew_testkit::{cases, corpus};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use std::fs;

/// A parsed message is encoded and parsed back to the same message.
fn assert_comes_back<T: Serialize + DeserializeOwned>(message: &T) {
    let mut line = Vec::new();
    encode(message, &mut line);
    assert_eq!(line.iter().filter(|it| **it == b'\n').count(), 1, "a message is one line");
    let back: T = serde_json::from_slice(&line).expect("what we wrote");
    let mut again = Vec::new();
    encode(&back, &mut again);
    assert_eq!(again, line);
}

#[test]
fn arbitrary_orders_and_reports_do_not_panic() {
    corpus!("order").check(500, |bytes| {
        if let Ok(order) = serde_json::from_slice::<Order<'_>>(bytes) {
            let mut line = Vec::new();
            encode(&order, &mut line);
            let back: Order<'_> = serde_json::from_slice(&line).expect("what we wrote");
            assert_eq!(format!("{back:?}"), format!("{order:?}"));
        }
    });
    corpus!("report").check(500, |bytes| {
        if let Ok(report) = serde_json::from_slice::<Report<'_>>(bytes) {
            let mut line = Vec::new();
            encode(&report, &mut line);
            assert_eq!(serde_json::from_slice::<Report<'_>>(&line).expect("what we wrote"), report);
        }
    });
}

#[test]
fn arbitrary_attempt_files_do_not_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    corpus!("exit").check(300, |bytes| {
        fs::write(folder.path().join("exit.json"), bytes).expect("room");
        let is_short = bytes.len() <= 6 * OUTPUT_TAIL_BYTES;
        let understood = serde_json::from_slice::<ExitRecord>(bytes).ok().filter(|_| is_short);
        // For lengths in between, the result depends on how much of the tail is escaped.
        if is_short || bytes.len() > 7 * OUTPUT_TAIL_BYTES {
            assert_eq!(read_exit(folder.path()), understood);
        }
        understood.iter().for_each(assert_comes_back);
    });
    corpus!("spec").check(300, |bytes| {
        if let Ok(spec) = serde_json::from_slice::<ShimSpec>(bytes) {
            assert_comes_back(&spec);
            assert!(spec.program().len() <= bytes.len() && !spec.marker().contains("//"));
        }
    });
}

/// An exit record has a few kilobytes. A longer file is not an exit record.
#[test]
fn endless_exit_record_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let exit = |stderr: String| Exit { code: Some(0), signal: None, stderr };
    let write = |exit: &Exit| {
        let json = serde_json::to_vec(exit).expect("plain data");
        fs::write(folder.path().join("exit.json"), json).expect("room");
    };
    let longest = exit("\u{1}".repeat(OUTPUT_TAIL_BYTES));
    write(&longest);
    assert_eq!(read_exit(folder.path()).map(|it| it.exit), Some(longest));
    write(&exit("x".repeat(1_024 * 1_024)));
    assert_eq!(read_exit(folder.path()), None);
}

#[test]
fn arbitrary_process_table_lines_do_not_panic() {
    corpus!("stat").check(500, |bytes| {
        if let Some(parent) = tree::parent_in(bytes) {
            assert!(String::from_utf8_lossy(bytes).contains(&parent.to_string()));
        }
    });
}

const BYTES_MAX: usize = 64;

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Garbage,
}

/// Characters that JSON allows only as an escape.
fn is_refused(character: char) -> bool {
    character < ' ' && !['\t', '\r'].contains(&character)
}

/// Splits lines like a splitter that has all bytes at once.
fn split(bytes: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = bytes
        .split_inclusive(|it| *it == b'\n')
        .map(|line| match line.strip_suffix(b"\n") {
            Some(line) if line.len() <= BYTES_MAX => match str::from_utf8(line) {
                Ok(text) if !text.contains(is_refused) => Piece::Text(text.to_owned()),
                Ok(_) | Err(_) => Piece::Garbage,
            },
            Some(_) | None => Piece::Garbage,
        })
        .collect();
    // How often a too long line is reported depends on how it arrived.
    pieces.dedup_by(|a, b| *a == Piece::Garbage && *b == Piece::Garbage);
    pieces
}

fn pushed(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Piece> {
    let mut cuts: Vec<usize> = cuts.iter().map(|it| it.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut lines = Lines::new(BYTES_MAX);
    let mut pieces = Vec::new();
    for cut in cuts.windows(2) {
        let each = &mut |line: Line<'_>| {
            pieces.push(piece(&line));
            Ok(())
        };
        lines.push(&bytes[cut[0]..cut[1]], each).expect("nothing fails");
        assert!(lines.held_bytes() <= 2 * BYTES_MAX.max(200), "{}", lines.held_bytes());
    }
    pieces.extend(lines.finish().map(|it| piece(&it)));
    pieces.dedup_by(|a, b| *a == Piece::Garbage && *b == Piece::Garbage);
    pieces
}

fn piece(line: &Line<'_>) -> Piece {
    match line {
        Line::Text(text) => Piece::Text((*text).to_owned()),
        Line::Garbage { reason } => {
            assert!(reason.len() < 4_000 && !reason.contains(char::is_control), "{reason:?}");
            Piece::Garbage
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(500)) })]

    #[test]
    fn lines_match_a_naive_splitter_for_any_chunking(
        bytes in corpus!("lines").changed(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        prop_assert_eq!(pushed(&bytes, &cuts), split(&bytes));
    }
}
