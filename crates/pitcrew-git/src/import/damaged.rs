//! Packs of a real git, damaged at every few bytes, and forged packs: each is imported unchanged or
//! rejected.

use super::{Checking, refusal};
use crate::{
    lab::{Lab, attempt, write},
    snapshot::{Agent, Nested, Source},
};
use pitcrew_testkit::{cases, corpus};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn packs(vault: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(vault.join("objects/pack")).expect("a folder").flatten();
    // Temporary files of an unfinished import are not packs.
    entries.map(|it| it.path()).filter(|it| it.extension().is_some()).collect()
}

/// The pack with every kind of damage.
fn damaged(good: &[u8]) -> Vec<Vec<u8>> {
    let step = (good.len() / cases(16).min(4_000) as usize).max(1);
    let places = || (0..good.len()).step_by(step);
    let changed = places().map(|at| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0x41;
        bytes
    });
    let cut = places().step_by(5).map(|at| good[..at].to_vec());
    let mut many = good.to_vec();
    many[8..12].fill(0xff);
    let mut next = good.to_vec();
    next[4..8].copy_from_slice(&[0, 0, 0, 9]);
    let forged = [
        Vec::new(),
        b"PACK".to_vec(),
        [good, b"more"].concat(),
        [b"\n", good].concat(),
        [b"PACK".as_slice(), &b"0".repeat(100_000)].concat(),
        many,
        next,
    ];
    changed.chain(cut).chain(forged).collect()
}

#[test]
fn pack_is_imported_unchanged_or_rejected() {
    let lab = Lab::new();
    let vault = lab.vault();
    let start = lab.plan(&vault).start;
    let path = lab.checkout(&vault, &attempt(1), &start).path;
    write(&path.join("core/lib.rs"), "work\n");
    let (path, message, nested) = (path.as_path(), "did it", Nested::Listed);
    let (attempt, agent) = (attempt(1).attempt, Agent::Gone);
    let source = Source { attempt, path, start: &start, message, nested, agent };
    let snapshot = vault.snapshot(source, None, &lab.policy, &lab.cancel).expect("a snapshot");
    let place = &vault.layout().vault;
    let before = packs(place);
    let forget = || {
        packs(place).difference(&before).for_each(|it| fs::remove_file(it).expect("a pack"));
    };
    let pack = snapshot.folder.path().join("pack");
    let take = || vault.take_pack(&pack, Checking::Strict, &lab.cancel);
    take().expect("a good pack");
    forget();
    let mut refused_count = 0;
    for bytes in damaged(&fs::read(&pack).expect("the pack")) {
        fs::write(&pack, &bytes).expect("room");
        let taken = take();
        match taken {
            Ok(()) => {
                let kind = lab.vault_git(&vault, &["cat-file", "-t", &snapshot.commit.0]);
                assert_eq!(kind, "commit");
            }
            Err(error) => {
                refused_count += 1;
                assert_eq!(packs(place), before, "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
        forget();
    }
    assert!(refused_count > 10, "damage is seen: {refused_count}");
    lab.vault_git(&vault, &["fsck", "--strict", "--no-dangling"]);
}

/// A program in the box could have created the pipe, and opening it would block forever.
#[test]
fn pipe_is_not_accepted_as_a_pack() {
    let lab = Lab::new();
    let vault = lab.vault();
    let pipe = lab.folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("a pipe");
    let error = vault.take_pack(&pipe, Checking::Strict, &lab.cancel).expect_err("no pack");
    assert_eq!(error.command, "index-pack");
}

#[test]
fn any_fsck_message_is_parsed_without_a_panic() {
    corpus!("fsck").check(300, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for refusal in text.lines().filter_map(refusal) {
            assert!(refusal.path.starts_with("object "));
        }
    });
}
