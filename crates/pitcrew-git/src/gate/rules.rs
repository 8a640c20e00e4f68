//! Judges a change by its path and mode alone.

use super::{
    Verdict, disguise,
    executes::{self, ConfigFiles},
};
use crate::changes::{Change, MODE_LINK, MODE_NONE, MODE_REPOSITORY};
use pitcrew_model::{RefusalKind, Standing, Zone, text};
use std::borrow::Cow;

const MODES: [&str; 5] = [MODE_NONE, "100644", "100755", MODE_LINK, MODE_REPOSITORY];

/// The rules that a path is judged by.
pub(super) struct Rules<'a> {
    pub(super) zone: &'a Zone,
    pub(super) config: &'a ConfigFiles,
}

impl Rules<'_> {
    pub(super) fn judge_name(&self, change: &Change, verdict: &mut Verdict) {
        let Some(path) = judge_form(change, verdict) else { return };
        match self.zone.standing(&path) {
            Standing::Denied(_) => verdict.refuse(path, RefusalKind::Denied),
            Standing::Outside => verdict.refuse(path, RefusalKind::OutsideZone),
            Standing::Own(_) | Standing::Shared(_) => self.judge_special(&path, verdict),
        }
    }

    /// Refuses paths that make other programs execute code, unless the zone names them.
    pub(super) fn judge_special(&self, path: &str, verdict: &mut Verdict) {
        let special = executes::special(path, self.config);
        if let Some(it) = special.filter(|it| !it.is_granted(self.zone)) {
            verdict.refuse_by(path, RefusalKind::Executes, it.rule());
        }
    }
}

/// Refuses what no zone can allow. Returns the path if it can be judged further.
///
/// A new name must be UTF-8. A file that already has another name may be changed: it is judged by
/// its path with a replacement for each foreign byte, which no rule and no zone contains.
pub(super) fn judge_form<'a>(change: &'a Change, verdict: &mut Verdict) -> Option<Cow<'a, str>> {
    let shown = change.path_text();
    let path = String::from_utf8_lossy(&change.path);
    let is_new = change.mode_before == MODE_NONE;
    let is_named = matches!(path, Cow::Borrowed(_)) || !is_new;
    let Some(path) = Some(path).filter(|it| is_named && !it.split('/').any(is_bad_part)) else {
        verdict.refuse(shown, RefusalKind::BadName);
        return None;
    };
    if path.split('/').any(disguise::is_git) {
        verdict.refuse(shown, RefusalKind::GitDir);
        return None;
    }
    if change.mode_after == MODE_REPOSITORY {
        verdict.refuse(&*shown, RefusalKind::Gitlink);
    }
    if !MODES.contains(&change.mode_after.as_str()) {
        verdict.refuse(shown, RefusalKind::BadMode);
    }
    Some(path)
}

/// Whether the change leaves a file or link whose content can be read.
pub(super) fn has_blob(change: &Change) -> bool {
    change.mode_after != MODE_NONE && change.mode_after != MODE_REPOSITORY
}

fn is_bad_part(part: &str) -> bool {
    part.is_empty()
        || part == "."
        || part == ".."
        || part.chars().any(|it| it.is_control() || it == '\\' || text::is_bidi_control(it))
}
