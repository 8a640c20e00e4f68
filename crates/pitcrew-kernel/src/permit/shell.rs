//! Maps a command line to actions, by all of its parts.
//!
//! This is not a shell: quotes are removed, so quoted text counts as if it were run, which is
//! sometimes too strict. Commands that hide what they run are classified as opaque, as far as that
//! is visible: a script that an agent has just written looks like any other program.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};
use pitcrew_model::Action;

/// Protected branches.
const MAIN: &[&str] = &["main", "master", "trunk"];
/// Programs that read what they run from elsewhere.
const RUNNERS: &[&str] = &["eval", "source", ".", "xargs", "parallel", "exec", "awk", "gawk"];
/// Words before the program name.
const WRAPPERS: &[&str] =
    &["env", "sudo", "nohup", "nice", "time", "command", "then", "do", "else", "!", "{"];
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Programs that connect to other hosts. Downloads of build tools are not visible here; the box
/// handles them.
const REACHERS: &[&str] = &["curl", "wget", "ssh", "scp", "sftp", "telnet", "ncat", "socat"];
/// Interpreters of other languages.
const INTERPRETERS: &[&str] = &["python", "python3", "perl", "ruby", "node", "php", "lua"];

pub fn actions(line: &str, base: Option<&str>) -> BTreeSet<Action> {
    let mut all = BTreeSet::from([Action::CommandExecution]);
    // Brace expansion can hide words.
    let braces = line.split('{').skip(1).any(|it| !it.starts_with(char::is_whitespace));
    if braces || line.contains(['`']) || line.contains("alias.") || line.contains("GIT_") {
        all.insert(Action::OpaqueCommand);
    }
    // A redirection may be in the middle of a command.
    let undirected = line.replace(['<', '>'], " ");
    for words in parts(line).into_iter().chain(parts(&undirected)) {
        if is_opaque(&words) {
            all.insert(Action::OpaqueCommand);
        }
        for (index, word) in words.iter().enumerate() {
            let name = name_of(word);
            match name.strip_prefix("git-").map_or(name, |_| "git") {
                // `git-push` is `git push`.
                "git" => all.extend(git(&own_words(name, &words[index + 1..]), base)),
                "gh" | "hub" | "glab" => all.extend(forge(&words[index + 1..])),
                name if REACHERS.contains(&name) => {
                    all.insert(Action::NetworkAccess);
                }
                _ => {}
            }
        }
    }
    all
}

fn own_words(name: &str, arguments: &[String]) -> Vec<String> {
    let first = name.strip_prefix("git-").map(ToString::to_string);
    first.into_iter().chain(arguments.iter().cloned()).collect()
}

/// Returns the words of every command of the line, however they are joined.
fn parts(line: &str) -> Vec<Vec<String>> {
    let plain: String = line.replace("\\\n", "");
    let plain: String = plain.chars().filter(|it| !matches!(it, '\'' | '"' | '\\')).collect();
    let joins =
        |it: char| matches!(it, ';' | '&' | '|' | '\n' | '\r' | '(' | ')' | '`' | '<' | '>');
    let words = |it: &str| it.split_whitespace().map(ToString::to_string).collect::<Vec<_>>();
    plain.split(joins).map(words).filter(|it| !it.is_empty()).collect()
}

/// Returns the program without its folder.
fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns whether the program, or what it runs, is not literal.
fn is_opaque(words: &[String]) -> bool {
    let is_assignment = |it: &&String| it.split_once('=').is_some_and(|it| is_variable(it.0));
    let is_before =
        |it: &&String| is_assignment(it) || it.starts_with('-') || WRAPPERS.contains(&name_of(it));
    let rest: Vec<&String> = words.iter().skip_while(is_before).collect();
    let Some((program, arguments)) = rest.split_first() else { return false };
    let hides = |it: &str| {
        it.contains(['$', '*', '?', '~']) || it.contains('[') && !matches!(it, "[" | "[[")
    };
    let name = name_of(program);
    let is_git = words.iter().any(|it| matches!(name_of(it), "git" | "gh" | "hub" | "glab"));
    let is_code = |it: &&&String| it.starts_with("-c") || it.starts_with("-e");
    hides(program)
        || is_git && words.iter().any(|it| hides(it) || it.starts_with("--config-env"))
        || RUNNERS.contains(&name)
        || SHELLS.contains(&name) && is_unseen(arguments)
        || INTERPRETERS.contains(&name)
            && (arguments.is_empty() || arguments.iter().any(|it| is_code(&it)))
}

/// A shell that reads from elsewhere, or whose command line contains an expansion.
fn is_unseen(arguments: &[&String]) -> bool {
    let file = arguments.iter().find(|it| !it.starts_with('-'));
    file.is_none() || arguments.iter().any(|it| it.contains('$'))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

fn git(words: &[String], base: Option<&str>) -> Vec<Action> {
    let has = |wanted: &str| words.iter().any(|it| it == wanted);
    let is_main = |it: &String| {
        let name = it.rsplit(':').next().unwrap_or(it).trim_start_matches('+');
        let name = name.strip_prefix("refs/").unwrap_or(name);
        let name = name.strip_prefix("heads/").unwrap_or(name);
        MAIN.contains(&name) || Some(name) == base
    };
    let deletes = words.iter().any(|it| is_option(it, "--delete", &['d', 'D']));
    let mut all = Vec::new();
    if has("push") || has("send-pack") {
        all.push(Action::GitPush);
        let is_forced = |it: &String| {
            is_option(it, "--force", &['f'])
                || is_option(it, "--mirror", &[])
                || is_option(it, "--prune", &[])
                || it.starts_with('+')
        };
        if words.iter().any(is_forced) {
            all.push(Action::ForcePush);
        }
        let empties = words.iter().any(|it| it.starts_with(':') && is_main(it));
        if empties || deletes && words.iter().any(is_main) {
            all.push(Action::DeleteMainBranch);
        }
    }
    if (has("branch") || has("update-ref")) && deletes && words.iter().any(is_main) {
        all.push(Action::DeleteMainBranch);
    }
    if has("worktree") && (has("remove") || has("prune")) {
        all.push(Action::WorktreeCleanup);
    }
    all
}

/// Long options may be abbreviated and have values; short ones may be combined.
fn is_option(word: &str, long: &str, short: &[char]) -> bool {
    match word.strip_prefix("--") {
        Some(rest) => rest.len() > 1 && (long[2..].starts_with(rest) || word.starts_with(long)),
        None => word.strip_prefix('-').is_some_and(|it| it.contains(short)),
    }
}

fn forge(words: &[String]) -> Vec<Action> {
    let has = |wanted: &str| words.iter().any(|it| it == wanted);
    let mut all = Vec::new();
    let is_request = has("pr") || has("mr") || has("pull-request");
    if is_request && (has("create") || has("new")) || has("pull-request") {
        all.push(Action::PrCreation);
    }
    if is_request && has("merge") {
        all.push(Action::BranchMerge);
    }
    if has("api") {
        all.push(Action::OpaqueCommand);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permission to run commands does not include these.
    #[test]
    fn hidden_pushes_are_found_or_opaque() {
        for line in [
            "git pu\\\nsh -f",
            "git 2>/dev/null push -f",
            "git `echo push` -f",
            "/usr/bin/gi[t] push -f",
            "env $G push -f",
            "if true; then $G push; fi",
            "echo x | env sh",
            "echo x | env -i sh",
            "echo x | python3",
            "awk 'BEGIN { system(1) }'",
            "GIT_CONFIG_COUNT=1 git p",
            "git --config-env=x=Y p",
            "/usr/lib/git-core/git-push -f",
            "git send-pack -f origin x",
        ] {
            let all = actions(line, None);
            let caught = [Action::OpaqueCommand, Action::ForcePush];
            assert!(caught.iter().any(|it| all.contains(it)), "{line}: {all:?}");
        }
        for line in ["make test", "[ -e x ] && cargo build", "git status > out.txt", "ls ."] {
            assert_eq!(actions(line, None), BTreeSet::from([Action::CommandExecution]), "{line}");
        }
    }

    #[test]
    fn network_programs_are_found_anywhere() {
        for line in ["curl http://x", "cd a && /usr/bin/wget x", "bash -c 'ssh host ls'"] {
            assert!(actions(line, None).contains(&Action::NetworkAccess), "{line}");
        }
        for line in ["ls ~/.ssh", "cat curl.txt", "cargo build"] {
            assert!(!actions(line, None).contains(&Action::NetworkAccess), "{line}");
        }
    }
}
