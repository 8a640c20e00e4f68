//! What may be known of a change by its path and mode alone.

use super::{Verdict, disguise, executes};
use crate::changes::{Change, MODE_LINK, MODE_NONE, MODE_REPOSITORY};
use pitcrew_model::{RefusalKind, Standing, Zone, text};

const MODES: [&str; 5] = [MODE_NONE, "100644", "100755", MODE_LINK, MODE_REPOSITORY];

pub(super) fn judge_name(change: &Change, zone: &Zone, verdict: &mut Verdict) {
    let shown = change.path_text();
    let Ok(path) = std::str::from_utf8(&change.path) else {
        verdict.refuse(shown, RefusalKind::BadName);
        return;
    };
    if path.split('/').any(is_bad_part) {
        verdict.refuse(shown, RefusalKind::BadName);
        return;
    }
    if path.split('/').any(|it| disguise::is(it, ".git")) {
        verdict.refuse(shown, RefusalKind::GitDir);
        return;
    }
    match zone.standing(path) {
        Standing::Denied(_) => verdict.refuse(&*shown, RefusalKind::Denied),
        Standing::Outside => verdict.refuse(&*shown, RefusalKind::OutsideZone),
        Standing::Own(_) | Standing::Shared(_) => {
            if executes::is(path) && !executes::is_granted(path, zone) {
                verdict.refuse(&*shown, RefusalKind::Executes);
            }
        }
    }
    if change.mode_after == MODE_REPOSITORY {
        verdict.refuse(&*shown, RefusalKind::Gitlink);
    }
    if !MODES.contains(&change.mode_after.as_str()) {
        verdict.refuse(shown, RefusalKind::BadMode);
    }
}

/// Whether the change leaves a file or link whose content can be looked at.
pub(super) fn has_blob(change: &Change) -> bool {
    change.mode_after != MODE_NONE && change.mode_after != MODE_REPOSITORY
}

fn is_bad_part(part: &str) -> bool {
    part.is_empty()
        || part == "."
        || part == ".."
        || part.chars().any(|it| it.is_control() || it == '\\' || text::turns_text_around(it))
}
