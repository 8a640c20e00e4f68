//! Sandbox settings: `[sandbox]` of the settings, and `PITCREW_SANDBOX`.
//!
//! A file that comes with the repository may only ask for a stronger tier.

use super::{
    Origin, Origins, Trust,
    draft::{Found, Reader},
    scalars::{InvalidValue, invalid, worktrees},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned, article},
};
use pitcrew_model::Tier;
use std::{ops::RangeInclusive, path::PathBuf};

/// The keys of `[sandbox]`, in the order of the reference.
pub const SANDBOX_KEYS: &[&str] =
    &["tier", "min_tier", "read", "write", "memory_mb", "processes", "file_mb", "open_files"];

const ALIASES: &[(&str, &str)] = &[("minimum", "min_tier"), ("memory", "memory_mb")];
const COUNT_RANGE: RangeInclusive<u32> = 16..=100_000_000;
const BEST: &str = "best";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The strongest tier to use. If absent, the best one available.
    pub tier: Option<Tier>,
    /// The weakest tier that is acceptable. If absent, any tier, but T1 only with consent.
    pub min_tier: Option<Tier>,
    /// Paths that programs may read in addition to those of every sandbox.
    pub read: Vec<PathBuf>,
    /// Paths that programs may write in addition to their checkout.
    pub write: Vec<PathBuf>,
    /// Address space of each process, in MiB.
    pub memory_mb: Option<u32>,
    pub processes: Option<u32>,
    /// Size of one file, in MiB.
    pub file_mb: Option<u32>,
    pub open_files: Option<u32>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            tier: None,
            min_tier: None,
            read: Vec::new(),
            write: Vec::new(),
            memory_mb: None,
            processes: Some(4_096),
            file_mb: Some(16 * 1_024),
            open_files: None,
        }
    }
}

impl SandboxSettings {
    /// Every value that differs from its default, as it would be written in a file.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let usual = Self::default();
        let paths = |it: &[PathBuf]| format!("{it:?}");
        let count = |it: Option<u32>| it.map_or_else(|| "(none)".to_owned(), |it| it.to_string());
        let rows = [
            ("tier", Some(shown_tier(self.tier)).filter(|_| self.tier != usual.tier)),
            ("min_tier", Some(shown_tier(self.min_tier)).filter(|_| self.min_tier.is_some())),
            ("read", Some(paths(&self.read)).filter(|_| !self.read.is_empty())),
            ("write", Some(paths(&self.write)).filter(|_| !self.write.is_empty())),
            ("memory_mb", Some(count(self.memory_mb)).filter(|_| self.memory_mb.is_some())),
            (
                "processes",
                Some(count(self.processes)).filter(|_| self.processes != usual.processes),
            ),
            ("file_mb", Some(count(self.file_mb)).filter(|_| self.file_mb != usual.file_mb)),
            ("open_files", Some(count(self.open_files)).filter(|_| self.open_files.is_some())),
        ];
        rows.into_iter()
            .filter_map(|(key, value)| Some((format!("sandbox.{key}"), value?)))
            .collect()
    }
}

fn shown_tier(tier: Option<Tier>) -> String {
    tier.map_or_else(|| format!("\"{BEST}\""), |it| format!("\"{it}\""))
}

/// The values of one layer.
#[derive(Debug, Default)]
pub(super) struct SandboxDraft {
    pub tier: Option<Found<Option<Tier>>>,
    min_tier: Option<Found<Option<Tier>>>,
    read: Option<Found<Vec<PathBuf>>>,
    write: Option<Found<Vec<PathBuf>>>,
    counts: Vec<(&'static str, Found<u32>)>,
}

/// `best`, or the name of a tier.
pub(super) fn tier(text: &str) -> Result<Option<Tier>, InvalidValue> {
    match text.trim() {
        BEST => Ok(None),
        "T1" => Ok(Some(Tier::T1)),
        "T2" => Ok(Some(Tier::T2)),
        "T3" => Ok(Some(Tier::T3)),
        _ => invalid(format!("cannot be `{text}`"), "write `best`, `T3`, `T2` or `T1`"),
    }
}

const READ_VARIABLE: &str = "PITCREW_SANDBOX_READ";
const WRITE_VARIABLE: &str = "PITCREW_SANDBOX_WRITE";

/// The variables other than `PITCREW_SANDBOX`, which sets the tier.
pub(super) fn variables() -> [String; 2] {
    [READ_VARIABLE, WRITE_VARIABLE].map(str::to_owned)
}

/// Sets one of these in a draft: paths separated by colons.
pub(super) fn set(
    draft: &mut SandboxDraft,
    variable: &str,
    text: &str,
    home: Option<&str>,
    origin: Origin,
) -> Result<(), InvalidValue> {
    let paths = text.split(':').filter(|it| !it.is_empty()).map(|it| worktrees(it, home));
    let found = Some(Found { value: paths.collect::<Result<_, _>>()?, origin });
    if variable == READ_VARIABLE {
        draft.read = found;
    } else {
        draft.write = found;
    }
    Ok(())
}

/// Reads `[sandbox]` of a settings file.
pub(super) fn in_settings(
    root: &Section,
    reader: &Reader,
    trust: Trust,
    home: Option<&str>,
    problems: &mut Problems,
) -> SandboxDraft {
    let Some((span, item)) = root.item("sandbox") else { return SandboxDraft::default() };
    let span = if span.is_empty() { root.key_span("sandbox") } else { span };
    let Some(table) = item.as_table_like() else {
        let message = format!("`sandbox` must be a table, not {}", article(item.type_name()));
        let help = "write `[sandbox]` and below it `min_tier = \"T3\"`";
        problems.error(&span, message, Some(help.into()));
        return SandboxDraft::default();
    };
    let mut section = Section::new(table, span);
    section.check_keys("the sandbox", SANDBOX_KEYS, ALIASES, problems);
    if trust == Trust::Repository {
        for key in SANDBOX_KEYS.iter().filter(|it| **it != "min_tier") {
            if section.item(key).is_some() {
                let message =
                    format!("a file that comes with the repository cannot set `sandbox.{key}`");
                let help = "put it into your own settings, usually `~/.config/pitcrew/config.toml`";
                problems.error(&section.key_span(key), message, Some(help.into()));
            }
        }
    }
    let counts = ["memory_mb", "processes", "file_mb", "open_files"].into_iter();
    SandboxDraft {
        tier: found(&section, "tier", reader, problems),
        min_tier: found(&section, "min_tier", reader, problems),
        read: paths(&section, "read", reader, home, problems),
        write: paths(&section, "write", reader, home, problems),
        counts: counts
            .filter_map(|key| {
                let Spanned { value, span } = section.integer(key, &COUNT_RANGE, problems)?;
                Some((key, Found { value, origin: reader.origin(&span, problems) }))
            })
            .collect(),
    }
}

fn found(
    section: &Section,
    key: &str,
    reader: &Reader,
    problems: &mut Problems,
) -> Option<Found<Option<Tier>>> {
    let Spanned { value, span } = section.string(key, problems)?;
    match tier(&value) {
        Ok(value) => Some(Found { value, origin: reader.origin(&span, problems) }),
        Err(invalid) => {
            problems.error(&span, format!("`{key}` {}", invalid.reason), Some(invalid.help));
            None
        }
    }
}

fn paths(
    section: &Section,
    key: &str,
    reader: &Reader,
    home: Option<&str>,
    problems: &mut Problems,
) -> Option<Found<Vec<PathBuf>>> {
    let origin = reader.origin(&section.key_span(key), problems);
    let texts = section.strings(key, problems)?;
    let mut paths = Vec::new();
    for Spanned { value, span } in texts {
        match worktrees(&value, home) {
            Ok(path) => paths.push(path),
            Err(invalid) => {
                problems.error(&span, format!("`{key}` {}", invalid.reason), Some(invalid.help));
            }
        }
    }
    Some(Found { value: paths, origin })
}

/// Applies a stronger layer. A repository's layer can only raise the tier.
pub(super) fn merge(
    settings: &mut SandboxSettings,
    trust: Trust,
    draft: SandboxDraft,
    origins: &mut Origins,
) {
    let mut set = |key: &str, origin: Origin| origins.set(&format!("sandbox.{key}"), origin);
    if let Some(tier) = draft.tier {
        settings.tier = tier.value;
        set("tier", tier.origin);
    }
    if let Some(read) = draft.read {
        settings.read = read.value;
        set("read", read.origin);
    }
    if let Some(write) = draft.write {
        settings.write = write.value;
        set("write", write.origin);
    }
    for (key, found) in draft.counts {
        let place = match key {
            "memory_mb" => &mut settings.memory_mb,
            "processes" => &mut settings.processes,
            "file_mb" => &mut settings.file_mb,
            _ => &mut settings.open_files,
        };
        *place = Some(found.value);
        set(key, found.origin);
    }
    if let Some(Found { value, origin }) = draft.min_tier {
        // T1 means no sandbox and needs a person's consent, so no file can require it.
        let strength = |it: Option<Tier>| it.filter(|it| *it > Tier::T1);
        if trust == Trust::Repository && strength(value) <= strength(settings.min_tier) {
            let reason =
                format!("a repository may only raise it from {}", shown_tier(settings.min_tier));
            origins.ignore("sandbox.min_tier", shown_tier(value), origin, reason);
        } else {
            settings.min_tier = value;
            origins.set("sandbox.min_tier", origin);
        }
    }
}
