//! Git's output about an agent's trees is parsed completely or rejected, and judged without a
//! panic.

use super::{
    Verdict, batch, disguise,
    executes::{self, ConfigFiles},
    link,
    rules::Rules,
    trees,
};
use crate::changes::{Change, parse_counted, parse_raw};
use pitcrew_model::{Failure, RefusalKind, Zone, limits};
use pitcrew_testkit::corpus;

fn zeros_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|it| **it == 0).count()
}

fn refused(judge: impl FnOnce(&mut Verdict)) -> Vec<RefusalKind> {
    let mut verdict = Verdict::default();
    judge(&mut verdict);
    match verdict.into_result() {
        Ok(()) => Vec::new(),
        Err(Failure::Gate { refusals, refusals_count }) => {
            assert!(refusals.len() <= limits::REFUSALS_LISTED_MAX && refusals_count > 0);
            refusals.into_iter().map(|it| it.kind).collect()
        }
        Err(other) => panic!("another failure: {other:?}"),
    }
}

fn judge_name(change: &Change, verdict: &mut Verdict) {
    Rules { zone: &Zone::default(), config: &ConfigFiles::new() }.judge_name(change, verdict);
}

/// The gate would accept any change that is missing from the list.
#[test]
fn any_list_of_changes_is_parsed_completely_or_rejected() {
    corpus!("raw").check(300, |bytes| {
        let Some(changes) = parse_raw(bytes) else { return };
        assert_eq!(zeros_count(bytes), 2 * changes.len());
        for change in &changes {
            refused(|it| judge_name(change, it));
        }
    });
    corpus!("counted").check(300, |bytes| {
        let Some((changes, lines)) = parse_counted(bytes) else { return };
        assert_eq!((zeros_count(bytes), lines.len()), (3 * changes.len(), changes.len()));
    });
}

#[test]
fn any_batch_of_objects_is_parsed_completely_or_rejected() {
    corpus!("batch").check(300, |bytes| {
        for contents_count in 0..4 {
            let Some(found) = batch::read(bytes, contents_count) else { continue };
            let objects = found.objects.iter();
            let read: usize = objects.map(|it| it.head.len() + it.content.len() + 2).sum();
            let lines_count =
                str::from_utf8(&bytes[read..]).expect("sizes are text").lines().count();
            assert_eq!(found.objects.len(), contents_count);
            assert!(found.sizes.len() <= lines_count);
        }
    });
}

/// A tree that is not refused equals one that an ordinary git writes: plain names, in order.
#[test]
fn any_accepted_tree_is_well_formed() {
    corpus!("tree").check(300, |bytes| {
        if !refused(|it| trees::judge("head", bytes, 20, it)).is_empty() {
            return;
        }
        let (mut rest, mut names) = (bytes, Vec::new());
        while let Some(end) = rest.iter().position(|it| *it == 0) {
            let name = rest[..end].splitn(2, |it| *it == b' ').nth(1).expect("mode and name");
            names.push(name.to_vec());
            rest = &rest[end + 21..];
        }
        assert!(rest.is_empty());
        let honest = |it: &Vec<u8>| !it.is_empty() && !it.contains(&b'/') && it != b"..";
        assert!(names.iter().all(honest), "{names:?}");
        names.sort();
        assert!(names.windows(2).all(|it| it[0] != it[1]), "{names:?}");
    });
}

#[test]
fn any_name_is_judged_without_a_panic() {
    corpus!("name").check(300, |bytes| {
        let change = |path: &[u8]| Change {
            mode_before: "000000".into(),
            mode_after: "100644".into(),
            object_before: "0".repeat(40),
            object: "1".repeat(40),
            letter: 'A',
            path: path.to_vec(),
        };
        let kinds = refused(|it| judge_name(&change(bytes), it));
        let leaves = link::leaves(b"a/link", bytes);
        let Ok(name) = str::from_utf8(bytes) else {
            assert_eq!((kinds, leaves), (vec![RefusalKind::BadName], true));
            return;
        };
        executes::special(name, &ConfigFiles::new());
        let has_git = name.split('/').any(disguise::is_git);
        assert!(!has_git || leaves, "a link into a git folder leaves");
        if kinds.is_empty() {
            let is_odd = |it: &str| it.is_empty() || it == ".." || it.eq_ignore_ascii_case(".git");
            assert!(!has_git && !name.split('/').any(is_odd), "{name:?}");
        }
    });
}
