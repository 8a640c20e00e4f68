//! The checked-in inventory of one kind of box in one tier: what programs there can reach, and why.
//!
//! ```text
//! both    | path rw: <checkout> 0700 runs  # the work of the agent
//! root?   | call: mount, umount2
//! ```
//!
//! The part before the bar is the user; `?` marks entries that a machine may lack. Each name after
//! the colon is a separate entry. The reason follows `#`. It is required for everything that can be
//! written or connected to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::PathBuf,
};

const WIDTH: usize = 110;
const MISSING: &str = "REASON MISSING";

/// An entry, where it is found and the reason why it is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    root: bool,
    nobody: bool,
    /// Whether a machine may lack it.
    optional: bool,
    reason: String,
}

#[derive(Clone, Debug, Default)]
pub struct Inventory {
    name: String,
    entries: BTreeMap<String, Entry>,
}

impl Inventory {
    /// Reads the inventory of a kind of box in a tier, or an empty one if there is none yet.
    pub fn read(kind: &str, tier: &str) -> Self {
        let name = format!("{kind}-{tier}");
        let text = fs::read_to_string(path(&name)).unwrap_or_default();
        Self::parse(&name, &text)
    }

    fn parse(name: &str, text: &str) -> Self {
        let mut inventory = Self { name: name.to_owned(), entries: BTreeMap::new() };
        for line in text.lines().filter(|it| !it.starts_with('#')) {
            let Some((whose, rest)) = line.split_once('|') else { continue };
            let (text, reason) = rest.split_once("  # ").unwrap_or((rest, ""));
            let whose = whose.trim();
            let users = whose.trim_end_matches('?');
            let entry = Entry {
                root: users != "nobody",
                nobody: users != "root",
                optional: whose.ends_with('?'),
                reason: reason.trim().to_owned(),
            };
            for text in ungrouped(text.trim()) {
                inventory.entries.insert(text, entry.clone());
            }
        }
        inventory
    }

    /// The differences from the entries that were found as this user. `is_root` means that the user
    /// is root.
    pub fn compare(&self, found: &BTreeSet<String>, is_root: bool) -> Vec<String> {
        let known = |it: &Entry| if is_root { it.root } else { it.nobody };
        let user = if is_root { "root" } else { "nobody" };
        let mut findings = Vec::new();
        for text in found {
            match self.entries.get(text) {
                Some(entry) if known(entry) => {}
                Some(_) | None => findings.push(format!("NEW in {} as {user}: {text}", self.name)),
            }
        }
        for (text, entry) in &self.entries {
            if known(entry) && !entry.optional && !found.contains(text) {
                findings.push(format!("GONE from {} as {user}: {text}", self.name));
            }
        }
        findings
    }

    /// Entries that need a reason and have none.
    pub fn unexplained(&self) -> Vec<String> {
        let lacks = |it: &Entry| it.reason.is_empty() || it.reason == MISSING;
        let found = self.entries.iter().filter(|it| needs_reason(it.0) && lacks(it.1));
        found.map(|(text, _)| format!("NO REASON in {}: {text}", self.name)).collect()
    }

    /// Replaces the entries of this user with those found, keeping known reasons. `others` may
    /// contain reasons for the same entries.
    pub fn update(&mut self, found: &BTreeSet<String>, is_root: bool, others: &[Self]) {
        for (text, entry) in &mut self.entries {
            let is_there = found.contains(text) || entry.optional;
            if is_root { entry.root &= is_there } else { entry.nobody &= is_there }
        }
        for text in found {
            let other = others.iter().find_map(|it| it.entries.get(text));
            let entry = self
                .entries
                .entry(text.clone())
                .or_insert_with(|| Entry { optional: may_be_lacking(text), ..Entry::default() });
            if is_root {
                entry.root = true;
            } else {
                entry.nobody = true;
            }
            if entry.reason.is_empty() || entry.reason == MISSING {
                let known = other.map(|it| it.reason.clone()).filter(|it| !it.is_empty());
                let missing = if needs_reason(text) { MISSING } else { "" };
                entry.reason = known.unwrap_or_else(|| missing.to_owned());
            }
        }
        self.entries.retain(|_, it| it.root || it.nobody);
    }

    pub fn write(&self) {
        fs::create_dir_all(folder()).expect("a folder");
        fs::write(path(&self.name), self.text()).expect("an inventory");
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# What a program reaches in {}.\n#\n# `cargo xtask escape --survey` compares it with what a \
             probe finds; `--write` writes what it finds and keeps reasons and `?`.\n# Before the bar: as \
             whom it is found; `?`: a machine may lack it. After `#`: why it is right.\n\n",
            self.name
        );
        let mut groups: BTreeMap<(&str, String, &str), Vec<&str>> = BTreeMap::new();
        for (entry_text, entry) in &self.entries {
            let (class, name) = entry_text.split_once(": ").unwrap_or((entry_text, ""));
            groups.entry((class, entry.whose(), &entry.reason)).or_default().push(name);
        }
        for ((class, whose, reason), names) in groups {
            for names in wrapped(&names) {
                let reason =
                    if reason.is_empty() { String::new() } else { format!("  # {reason}") };
                writeln!(text, "{whose:<7} | {class}: {names}{reason}").expect("a string grows");
            }
        }
        text
    }

    /// The number of entries, of those that can be written, and of those that can be connected to.
    pub fn counts(&self) -> [usize; 3] {
        let writable = |it: &&String| {
            ["path rw", "path w", "kernel rw", "kernel w"].iter().any(|class| it.starts_with(class))
        };
        let connectable =
            |it: &&String| it.starts_with("connect: ") || it.starts_with("socket rw: ");
        [
            self.entries.len(),
            self.entries.keys().filter(writable).count(),
            self.entries.keys().filter(connectable).count(),
        ]
    }
}

impl Entry {
    fn whose(&self) -> String {
        let users = match (self.root, self.nobody) {
            (true, true) => "both",
            (true, false) => "root",
            (false, _) => "nobody",
        };
        format!("{users}{}", if self.optional { "?" } else { "" })
    }
}

/// Whether an entry needs a reason, because a program could change, reach or take it.
fn needs_reason(text: &str) -> bool {
    const CLASSES: &[&str] = &[
        "path rw",
        "path w",
        "kernel rw",
        "kernel w",
        "device",
        "socket rw",
        "connect",
        "descriptor",
        "listen",
        "setuid",
        "terminal",
        "keys",
    ];
    const ABILITIES: &[&str] = &["traced", "signalled", "changed", "written", "taken", "by a call"];
    let is_ability = || ABILITIES.iter().any(|it| text.contains(it));
    let class = text.split_once(": ").map_or(text, |it| it.0);
    CLASSES.iter().any(|it| class.starts_with(it)) || class.starts_with("process ") && is_ability()
}

/// Whether an entry depends on the setup or kernel of a machine.
fn may_be_lacking(text: &str) -> bool {
    const CLASSES: &[&str] = &["kernel r", "kernel rw", "kernel w", "socket", "setuid"];
    let (class, name) = text.split_once(": ").unwrap_or((text, ""));
    let is_setting = name.starts_with("/etc/") && !class.contains("made by the box");
    CLASSES.contains(&class)
        || is_setting
        || name.starts_with("/proc/")
        || name == "npm_config_registry"
}

fn wrapped(names: &[&str]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for name in names {
        let last = lines.last_mut().expect("there is one");
        if last.is_empty() {
            last.push_str(name);
        } else if last.len() + name.len() < WIDTH {
            last.push_str(", ");
            last.push_str(name);
        } else {
            lines.push((*name).to_owned());
        }
    }
    lines
}

fn ungrouped(text: &str) -> Vec<String> {
    let (class, names) = text.split_once(": ").unwrap_or((text, ""));
    names.split(", ").map(|it| format!("{class}: {it}")).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/survey/inventory")
}

fn path(name: &str) -> PathBuf {
    folder().join(format!("{name}.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# head\nboth    | path rw: <checkout> 0700  # its work\nroot    | call: a, b\nnobody? | call: c\n";

    fn found(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn new_and_missing_entries_are_reported() {
        let inventory = Inventory::parse("agent-T3", TEXT);
        let all = ["path rw: <checkout> 0700", "call: a", "call: b"];
        assert_eq!(inventory.compare(&found(&all), true), [""; 0]);
        assert_eq!(
            inventory.compare(&found(&[all[0], "call: b", "connect: tcp port"]), true),
            ["NEW in agent-T3 as root: connect: tcp port", "GONE from agent-T3 as root: call: a",]
        );
        let as_nobody = inventory.compare(&found(&[all[0], "call: a"]), false);
        assert_eq!(as_nobody, ["NEW in agent-T3 as nobody: call: a"]);
    }

    #[test]
    fn updated_entries_keep_their_reasons() {
        let mut inventory = Inventory::parse("agent-T3", TEXT);
        let now = found(&["path rw: <checkout> 0700", "call: a", "connect: tcp of the proxy"]);
        inventory.update(&now, true, &[]);
        assert_eq!(inventory.compare(&now, true), [""; 0]);
        assert_eq!(inventory.unexplained(), ["NO REASON in agent-T3: connect: tcp of the proxy"]);
        let text = inventory.text();
        assert!(text.contains("both    | path rw: <checkout> 0700  # its work\n"), "{text}");
        assert!(text.contains("root    | connect: tcp of the proxy  # REASON MISSING\n"), "{text}");
        assert!(text.contains("nobody? | call: c\n"), "{text}");
        let again = Inventory::parse("agent-T3", &text);
        assert_eq!(again.entries, inventory.entries);
        let mut other = Inventory::parse("check-T3", "");
        other.update(&found(&["path rw: <checkout> 0700"]), true, &[again]);
        assert_eq!(other.unexplained(), [""; 0]);
    }
}
