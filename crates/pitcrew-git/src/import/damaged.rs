//! Bundles of a real git, damaged at every few bytes and forged: they are fetched as they were
//! made, or not at all.

use super::{Checking, refusal};
use crate::{
    lab::{Lab, attempt, write},
    snapshot::{Nested, Source},
};
use pitcrew_testkit::{cases, corpus};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const TO: &str = "refs/pitcrew/quarantine/damaged";

fn packs(vault: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(vault.join("objects/pack")).expect("a folder").flatten();
    entries.map(|it| it.path()).collect()
}

/// The bundle after every kind of damage.
fn damaged(good: &[u8]) -> Vec<Vec<u8>> {
    let step = (good.len() / cases(16).min(4_000) as usize).max(1);
    let places = || (0..good.len()).step_by(step);
    let changed = places().map(|at| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0x41;
        bytes
    });
    let cut = places().step_by(5).map(|at| good[..at].to_vec());
    let pack = good.windows(4).position(|it| it == b"PACK").expect("a bundle has a pack");
    let mut many = good.to_vec();
    many[pack + 8..pack + 12].fill(0xff);
    let mut next = good.to_vec();
    next[2..4].copy_from_slice(b"v9");
    let forged = [
        Vec::new(),
        b"# v2 git bundle\n".to_vec(),
        [good, b"more"].concat(),
        [&good[..pack], b"\n", &good[pack..]].concat(),
        [b"# v2 git bundle\n-".as_slice(), &b"0".repeat(100_000)].concat(),
        many,
        next,
    ];
    changed.chain(cut).chain(forged).collect()
}

#[test]
fn a_bundle_is_fetched_as_it_was_made_or_not_at_all() {
    let lab = Lab::new();
    let vault = lab.vault();
    let start = lab.plan(&vault).start;
    let path = lab.checkout(&vault, &attempt(1), &start).path;
    write(&path.join("core/lib.rs"), "work\n");
    let (path, message, nested) = (path.as_path(), "did it", Nested::Listed);
    let source = Source { attempt: attempt(1).attempt, path, start: &start, message, nested };
    let snapshot = vault.snapshot(source, &lab.policy, &lab.cancel).expect("a snapshot");
    let place = &vault.layout().vault;
    let before = packs(place);
    let forget = || {
        lab.vault_git(&vault, &["update-ref", "-d", TO]);
        packs(place).difference(&before).for_each(|it| fs::remove_file(it).expect("a pack"));
    };
    snapshot.import(TO, Checking::Strict).expect("a good bundle");
    let good = fs::read(snapshot.folder.path().join("1.bundle")).expect("the bundle");
    forget();
    let bundle = snapshot.folder.path().join("damaged");
    let mut refused_count = 0;
    for bytes in damaged(&good) {
        fs::write(&bundle, &bytes).expect("room");
        let fetched = snapshot.fetch(&bundle, TO, Checking::Strict);
        let found = lab.vault_git(&vault, &["for-each-ref", "--format=%(objectname)", TO]);
        match fetched {
            Ok(()) => assert_eq!(found, snapshot.commit.0),
            Err(error) => {
                refused_count += 1;
                assert_eq!(found, "", "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
        forget();
    }
    assert!(refused_count > 10, "damage is seen: {refused_count}");
    lab.vault_git(&vault, &["fsck", "--strict", "--no-dangling"]);
}

/// A git that is killed while it writes a bundle has taken its lock.
#[test]
fn a_bundle_that_was_cut_off_is_not_in_the_way_of_the_next() {
    let lab = Lab::new();
    let vault = lab.vault();
    let start = lab.plan(&vault).start;
    let path = lab.checkout(&vault, &attempt(1), &start).path;
    write(&path.join("core/lib.rs"), "work\n");
    let (path, message, nested) = (path.as_path(), "did it", Nested::Listed);
    let source = Source { attempt: attempt(1).attempt, path, start: &start, message, nested };
    let snapshot = vault.snapshot(source, &lab.policy, &lab.cancel).expect("a snapshot");
    let bundle = snapshot.fresh_bundle();
    fs::write(bundle.with_file_name("1.bundle.lock"), "# v2").expect("room");
    snapshot.import(TO, Checking::Strict).expect("another bundle");
    assert!(!bundle.exists());
    assert_eq!(lab.vault_git(&vault, &["rev-parse", TO]), snapshot.commit.0);
}

#[test]
fn any_complaint_of_fsck_is_read() {
    corpus!("fsck").check(300, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for refusal in text.lines().filter_map(refusal) {
            assert!(refusal.path.starts_with("object "));
        }
    });
}
