//! The user's git settings that programs in boxes get: an allow-list of keys.
//!
//! Git settings can hold passwords in many places: aliases that call a web service, URLs that are
//! rewritten with a token, headers, credential helpers. So the files themselves are not readable in
//! boxes, and a copy with harmless keys is written for all boxes.

use crate::{
    Repository,
    error::{FileError, VaultError},
    files,
};
use pitcrew_process::Cancel;
use std::{fmt::Write, path::Path};

/// Settings for the commit author, for how files are read and written, and for how results are
/// shown. No key contains a program, a URL or a file.
const KEYS: &[&str] = &[
    "apply.ignorewhitespace",
    "apply.whitespace",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "color.ui",
    "column.ui",
    "commit.cleanup",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkroundtripencoding",
    "core.commentchar",
    "core.commentstring",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "core.untrackedcache",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.context",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "diff.submodule",
    "diff.wserrorhighlight",
    "grep.extendedregexp",
    "grep.linenumber",
    "grep.patterntype",
    "init.defaultbranch",
    "init.defaultobjectformat",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.follow",
    "merge.conflictstyle",
    "merge.directoryrenames",
    "merge.ff",
    "merge.log",
    "merge.renamelimit",
    "merge.renames",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.enabled",
    "safe.directory",
    "status.branch",
    "status.short",
    "status.showuntrackedfiles",
    "status.submodulesummary",
    "tag.sort",
    "user.email",
    "user.name",
];

/// The keys of a filter. Without the filter, files would differ from the user's.
const FILTER_KEYS: &[&str] = &["clean", "process", "required", "smudge"];

/// Writes the user's settings, including all files that they include.
pub(crate) fn share(user: &Repository, path: &Path, cancel: &Cancel) -> Result<(), VaultError> {
    let listed = user.call("config").args(["-z", "--list", "--show-scope"]).output(cancel)?;
    Ok(replace(path, &allowed(&listed))?)
}

/// Writes in place. The boxes of agents that outlive an orchestrator refer to this very file, by
/// its mount or its Landlock rule, and could not open a file that is renamed over it.
fn replace(path: &Path, text: &str) -> Result<(), FileError> {
    if files::read_if_there(path)?.as_deref() == Some(text.as_bytes()) {
        return Ok(());
    }
    files::create_folder(path.parent().expect("it is in a folder"))?;
    files::write(path, text)
}

/// Formats the allowed settings as a file. The input is pairs of a scope and a setting.
fn allowed(listed: &[u8]) -> String {
    let mut text = String::new();
    let mut fields = listed.split(|it| *it == 0);
    while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
        let Ok(setting) = std::str::from_utf8(setting) else { continue };
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        if matches!(scope, b"system" | b"global")
            && let Some((section, name)) = allowed_key(key)
            && let Some(value) = quoted(value)
        {
            writeln!(text, "[{section}]\n\t{name} = {value}").expect("a string takes everything");
        }
    }
    text
}

/// The section as it is written in a file, and the name in it.
fn allowed_key(key: &str) -> Option<(String, &str)> {
    let (section, name) = key.rsplit_once('.')?;
    if KEYS.contains(&key) {
        return Some((section.to_owned(), name));
    }
    let filter = section.strip_prefix("filter.").filter(|_| FILTER_KEYS.contains(&name))?;
    Some((format!("filter {}", quoted(filter)?), name))
}

/// Quotes a value. `None` if a settings file cannot contain it.
fn quoted(value: &str) -> Option<String> {
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\t' => text.push_str("\\t"),
            it if it.is_control() => return None,
            it => text.push(it),
        }
    }
    text.push('"');
    Some(text)
}

#[cfg(test)]
mod tests {
    use crate::lab::{Lab, attempt, write};
    use pitcrew_process::{Run, run_confined};
    use std::{fs, os::unix::fs::MetadataExt};

    const SETTINGS: &str = r#"
[user]
    name = "Ada \"the first\" Lovelace"
    email = ada@example.org
[include]
    path = more
[alias]
    api = "!curl -H 'Authorization: token hidden-alias'"
[url "https://x:hidden-url@host.example/"]
    insteadOf = git@host.example:
[http]
    extraHeader = Authorization: hidden-header
[credential]
    helper = "!echo password=hidden-helper"
[core]
    sshCommand = ssh -i hidden-key
    askPass = hidden-program
    quotePath
[filter "odd \"name\""]
    smudge = cat
"#;

    #[test]
    fn box_gets_only_harmless_user_settings() {
        let lab = Lab::new();
        write(&lab.home().join(".gitconfig"), SETTINGS);
        write(&lab.home().join("more"), "[init]\n\tdefaultBranch = trunk\n[x]\n\ty = hidden-x\n");
        let vault = lab.vault();
        let path = vault.git_settings();
        let text = fs::read_to_string(&path).expect("a file");
        assert!(!text.contains("hidden"), "{text}");
        let base = lab.plan(&vault);
        let checkout = lab.checkout(&vault, &attempt(1), &base.start).path;
        let script = "git config user.name; git config init.defaultBranch; git config core.quotePath; \
            git config 'filter.odd \"name\".smudge'; \
            grep -rs hidden \"$HOME\" \"$GIT_CONFIG_GLOBAL\"; git config --list | grep -c hidden";
        let policy = lab.policy.clone().writing(&checkout).reading(&path);
        let run = Run::shell(script, &checkout).env("GIT_CONFIG_GLOBAL", &path);
        let run = run.env("GIT_CONFIG_NOSYSTEM", "1");
        let finished = run_confined(&policy, run, &lab.cancel).expect("a box");
        let said = String::from_utf8_lossy(&finished.stdout).into_owned();
        let expected = "Pitcrew worker\ntrunk\ntrue\ncat\n0\n";
        assert_eq!(said, expected, "{}", String::from_utf8_lossy(&finished.stderr));
        let git = |command| vault.git.confined(&lab.policy, &checkout, command);
        let listed = git("config").args(["--list"]).output(&lab.cancel).expect("its settings");
        let listed = String::from_utf8(listed).expect("UTF-8");
        assert!(listed.contains("trunk") && !listed.contains("hidden"), "{listed}");
    }
    #[test]
    fn restart_keeps_the_settings_file_of_running_boxes() {
        let lab = Lab::new();
        let settings = lab.home().join(".gitconfig");
        write(&settings, "[user]\n\tname = Ada\n");
        let path = lab.vault().git_settings();
        let held = fs::metadata(&path).expect("a file").ino();
        write(&settings, "[user]\n\tname = Grace\n");
        assert_eq!(lab.vault().git_settings(), path);
        assert_eq!(fs::metadata(&path).expect("a file").ino(), held);
        assert!(fs::read_to_string(&path).expect("a file").contains("Grace"));
    }
}
