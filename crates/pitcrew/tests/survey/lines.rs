//! Normalizes the lines of a probe so that they are the same on every machine: places, users and
//! numbers are replaced by names. An entry is `CLASS: NAME`.

use crate::scene::{NOBODY, Scene};
use std::{collections::BTreeSet, fs, path::Path};

/// The user id in boxes that root starts.
const BOX_ID: &str = "1879048192";
/// The prefixes of names that end with a version.
const VERSIONED: &[&str] = &["java-", "php", "python3."];

/// Returns one inventory line for each line of the report, without duplicates.
pub fn entries(report: &[String], scene: &Scene, checkout: &str) -> BTreeSet<String> {
    let names = names(scene, checkout);
    let all = report.iter().map(|it| entry(it, &names));
    let all: BTreeSet<String> = all.collect();
    // Without a separate mount namespace, the mounts are those of the machine.
    let is_shared = all.contains("namespace: mnt of the machine");
    all.into_iter().filter(|it| !(is_shared && it.starts_with("mount "))).collect()
}

/// The paths of the scene, longest first.
fn names(scene: &Scene, checkout: &str) -> Vec<(String, String)> {
    let root = scene.sandbox.root();
    let place = |path: &Path, name: &str| (path.display().to_string(), name.to_owned());
    let mut names = vec![
        (checkout.to_owned(), "<checkout>".to_owned()),
        place(root, "<root>"),
        place(&root.join("bin"), "<tools>"),
        place(&root.join("home"), "<home>"),
        place(&root.join("run/pitcrew"), "<runtime>"),
        place(&root.join("repo"), "<repository>"),
        place(&root.join("home/.local/state/pitcrew"), "<state>"),
        place(scene.sandbox.binary(), "<pitcrew>"),
    ];
    names.sort_by_key(|it| std::cmp::Reverse(it.0.len()));
    names
}

fn entry(line: &str, names: &[(String, String)]) -> String {
    let mut line = line.to_owned();
    for (path, name) in names {
        line = replace_path(&line, path, name);
    }
    let line = line.split('/').map(part).collect::<Vec<_>>().join("/");
    let (class, rest) = line.split_once(' ').unwrap_or((&line, ""));
    match class {
        "mount" => mount(rest),
        "namespace" => name_space(rest),
        "limit" => limit(rest),
        "own" => format!("own: {}", own(rest)),
        "from" | "process" => {
            let (name, rest) = rest.split_once(": ").unwrap_or((rest, ""));
            match rest.strip_prefix("has ") {
                Some(field) => format!("{class} {name}: has {}", own(field)),
                None => line,
            }
        }
        "link" if rest == "lo" => "network device: lo".into(),
        "link" => "network device: those of the machine".into(),
        "connect" => format!("connect: {}", connect(rest)),
        "may" => format!("may call: {rest}"),
        class => match rest.split_once(' ') {
            Some((rights @ ("r" | "rw" | "w"), rest)) => format!("{class} {rights}: {rest}"),
            Some(_) | None => format!("{class}: {rest}"),
        },
    }
}

/// Replaces only whole components of a path.
fn replace_path(line: &str, path: &str, name: &str) -> String {
    let mut replaced = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(path) {
        let after = &rest[at + path.len()..];
        let is_whole = after.is_empty() || after.starts_with(['/', ' ', ',']);
        replaced.push_str(&rest[..at]);
        replaced.push_str(if is_whole { name } else { path });
        rest = after;
    }
    replaced + rest
}

/// Normalizes a path component whose name differs between runs. Text after a space is kept.
fn part(part: &str) -> String {
    let (name, rest) = match part.find(' ') {
        Some(at) => part.split_at(at),
        None => (part, ""),
    };
    let is_hex = name.bytes().all(|it| it.is_ascii_hexdigit());
    let (is_id, is_commit) = (is_hex && name.len() == 16, is_hex && name.len() == 40);
    let versioned = VERSIONED.iter().find(|it| name.starts_with(**it));
    let shown = if name.starts_with("attempt-") {
        "<attempt>".to_owned()
    } else if name.starts_with("task-") {
        "<task>".to_owned()
    } else if name.starts_with("plan-") {
        "<plan>".to_owned()
    } else if name.starts_with("egress-") {
        "<egress socket>".to_owned()
    } else if name.starts_with("pitcrew-") {
        "<own home>".to_owned()
    } else if name.starts_with("bindfile") {
        "<file of the box>".to_owned()
    } else if is_id {
        "<id>".to_owned()
    } else if is_commit {
        "<commit>".to_owned()
    } else if let Some(beginning) = versioned {
        format!("{beginning}*")
    } else {
        name.to_owned()
    };
    shown + rest
}

/// `PLACE TYPE ROOT OPTIONS`: the source of a mount matters, but not its disk.
fn mount(rest: &str) -> String {
    let names = ["<egress socket>", "<file of the box>", "<own home>"];
    // Some names contain a space.
    let mut text = rest.to_owned();
    for name in names {
        text = text.replace(name, &name.replace(' ', "_"));
    }
    let words: Vec<&str> = text.splitn(4, ' ').collect();
    let [place, kind, root, options] = words[..] else { return format!("mount: {rest}") };
    let kind = match kind {
        "proc" | "devpts" | "mqueue" | "sysfs" | "cgroup2" => kind,
        "devtmpfs" => "device",
        "tmpfs" if root == "/" || place == "/" => "empty",
        "tmpfs" if root.contains("<file_of_the_box>") => "made by the box",
        _ => "of the machine",
    };
    let place = place.replace("<egress_socket>", "<egress socket>");
    format!("mount {kind} {options}: {place}")
}

fn name_space(rest: &str) -> String {
    let (name, at) = rest.split_once(' ').unwrap_or((rest, ""));
    let ours = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
    let whose = if ours.as_os_str() == at { "of the machine" } else { "its own" };
    format!("namespace: {name} {whose}")
}

fn limit(rest: &str) -> String {
    let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
    let line = match name {
        "data" => "Max data size",
        "open-files" => "Max open files",
        "processes" => "Max processes",
        "locked-memory" => "Max locked memory",
        _ => return format!("limit: {rest}"),
    };
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let ours = limits.lines().find_map(|it| it.strip_prefix(line)).unwrap_or_default();
    let is_same = ours.split_whitespace().nth(1) == Some(value);
    let shown = if is_same {
        "as outside"
    } else if name == "processes" {
        "of the policy"
    } else {
        value
    };
    format!("limit: {name} {shown}")
}

/// Normalizes a field of a process status.
fn own(rest: &str) -> String {
    let (name, values) = rest.split_once(' ').unwrap_or((rest, ""));
    let user = rustix::process::geteuid().as_raw();
    let user = if user == 0 { NOBODY } else { user }.to_string();
    let shown = |it: &str| match it {
        "0" => "root".to_owned(),
        BOX_ID => "<box>".to_owned(),
        it if it == user => "<user>".to_owned(),
        it => it.to_owned(),
    };
    if name.starts_with("Cap") {
        let bits = u64::from_str_radix(values, 16).unwrap_or(u64::MAX);
        let shown = match bits {
            0 => "none".to_owned(),
            // The exact set depends on the kernel.
            bits if bits.count_ones() >= 40 => "all but few".to_owned(),
            bits => format!("{bits:#x}"),
        };
        return format!("{name} {shown}");
    }
    if ["Uid", "Gid"].contains(&name) {
        let unlike: BTreeSet<String> = values.split(' ').map(shown).collect();
        return format!("{name} {}", unlike.into_iter().collect::<Vec<_>>().join(" "));
    }
    if name.ends_with("_map") {
        let mapped: Vec<String> = values.split(' ').map(shown).collect();
        return format!("{name} {}", mapped.join(" "));
    }
    format!("{name} {}", if values.is_empty() { "none" } else { values })
}

/// Normalizes the numbers and names of the scene, which differ between runs.
fn connect(rest: &str) -> String {
    let words: Vec<&str> = rest.splitn(3, ' ').collect();
    match words[..] {
        ["tcp", "port", port] => format!("tcp {port}"),
        [kind @ ("tcp" | "udp"), _] => format!("{kind} of the machine's loopback"),
        [kind @ ("tcp" | "udp"), _, way] => {
            format!("{kind} of the machine's loopback {way}")
        }
        [kind @ ("abstract-stream" | "abstract-dgram"), _] => kind.to_owned(),
        [kind @ ("abstract-stream" | "abstract-dgram"), _, way] => format!("{kind} {way}"),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str) -> String {
        let names = [("/tmp/x/home/tree", "<checkout>"), ("/tmp/x", "<root>")]
            .map(|(path, name)| (path.to_owned(), name.to_owned()));
        entry(line, &names)
    }

    #[test]
    fn entries_are_the_same_on_every_machine() {
        for (line, expected) in [
            ("path rw /tmp/x/home/tree 0700 runs", "path rw: <checkout> 0700 runs"),
            ("path r /tmp/x/attempt-12/a", "path r: <root>/<attempt>/a"),
            ("path r /tmp/xy", "path r: /tmp/xy"),
            ("mount /etc/java-17 ext4 /a ro nosuid", "mount of the machine ro nosuid: /etc/java-*"),
            ("mount /run tmpfs / rw nosuid", "mount empty rw nosuid: /run"),
            ("mount /a/egress-1.sock ext4 /a ro", "mount of the machine ro: /a/<egress socket>"),
            ("own CapEff 0000000000000000", "own: CapEff none"),
            ("own Uid 1879048192 1879048192 0 0", "own: Uid <box> root"),
            ("connect tcp 4321 (by MPTCP)", "connect: tcp of the machine's loopback (by MPTCP)"),
            ("connect tcp port of the proxy", "connect: tcp of the proxy"),
            ("link eth7", "network device: those of the machine"),
            ("call ptrace", "call: ptrace"),
        ] {
            assert_eq!(named(line), expected);
        }
    }
}
