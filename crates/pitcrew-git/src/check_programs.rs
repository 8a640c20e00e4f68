//! Finds checks whose program does not exist, before an agent works for them.
//!
//! Programs are looked up where the checks will run: in their sandbox, in a checkout of the base.
//! Most programs are found without a checkout, and most others without setup. A check whose
//! program cannot be told from its text is not judged.

use crate::{Vault, commands::Commands, files::require_free_space, scratch::Scene};
use pitcrew_model::{CommitId, Failure, MissingProgram, PlanId, text::distance};
use pitcrew_process::{Cancel, Net, Policy, shell};
use std::{path::Path, time::Duration};

const LOOKUP_TIMEOUT: Duration = Duration::from_mins(1);
/// Prints the names of all programs on the `PATH`.
const LIST: &str = r#"IFS=:; for d in $PATH; do for f in "$d"/*; do [ -x "$f" ] && printf '%s\n' "${f##*/}"; done; done; :"#;

/// The program that a check runs first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program<'a> {
    check: &'a str,
    /// The folder that the check changes to.
    folder: Option<&'a str>,
    name: &'a str,
}

impl Vault {
    /// Fails with all checks whose programs do not exist, neither on the base nor after setup.
    pub fn require_programs(
        &self,
        plan: PlanId,
        commit: &CommitId,
        (setup, checks): (&[String], &[String]),
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let programs: Vec<Program<'_>> = checks.iter().filter_map(|it| program(it)).collect();
        if programs.is_empty() {
            return Ok(());
        }
        require_free_space(&self.layout.scratch)?;
        let scene = self.scene(&format!("{plan}-programs"))?;
        let lookup = Lookup { scene: &scene, policy, cancel };
        let (in_tree, on_path): (Vec<_>, Vec<_>) =
            programs.into_iter().partition(Program::is_in_tree);
        let mut missing = lookup.missing(on_path);
        missing.extend(in_tree);
        missing.sort_by_key(|it| checks.iter().position(|check| check == it.check));
        if missing.is_empty() {
            return Ok(());
        }
        self.while_lent((&scene.path, commit), policy, cancel, |store, policy| {
            self.make_tree(&scene.path, "pitcrew/check", commit, store, policy, cancel)?;
            let lookup = Lookup { scene: &scene, policy, cancel };
            missing = lookup.missing(missing);
            if !missing.is_empty() && !setup.is_empty() {
                match Commands::of(policy, &scene.path).run_setup(setup, cancel) {
                    Ok(()) => missing = lookup.missing(missing),
                    Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                    // Each task reports this failure itself.
                    Err(_) => return Ok(()),
                }
            }
            if cancel.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            if missing.is_empty() { Ok(()) } else { Err(lookup.failure(&missing)) }
        })
    }
}

struct Lookup<'a> {
    scene: &'a Scene,
    policy: &'a Policy,
    cancel: &'a Cancel,
}

impl Lookup<'_> {
    /// The programs that do not exist. If the lookup itself fails, all of them count as existing.
    fn missing<'p>(&self, programs: Vec<Program<'p>>) -> Vec<Program<'p>> {
        if programs.is_empty() {
            return programs;
        }
        let script: Vec<String> =
            programs.iter().enumerate().map(|(index, it)| it.test(index)).collect();
        let output = self.output(&script.join("\n"));
        let is_missing = |index: usize| {
            let line = format!("missing {index}");
            output.lines().any(|it| it == line)
        };
        let numbered = programs.into_iter().enumerate();
        numbered.filter(|(index, _)| is_missing(*index)).map(|it| it.1).collect()
    }

    fn failure(&self, missing: &[Program<'_>]) -> Failure {
        let is_bare = |it: &&Program<'_>| !it.name.contains('/');
        let listed = missing.iter().find(is_bare).map(|_| self.output(LIST)).unwrap_or_default();
        let missing = missing.iter().map(|it| MissingProgram {
            check: it.check.to_owned(),
            program: it.name.to_owned(),
            nearest: match it.name.rsplit_once('/') {
                None => nearest(it.name, listed.lines()),
                Some((folder, name)) => {
                    let place = self.scene.path.join(it.folder.unwrap_or_default()).join(folder);
                    nearest(name, names_in(&place).iter().map(String::as_str))
                        .map(|it| format!("{folder}/{it}"))
                }
            },
        });
        Failure::CheckPrograms { missing: missing.collect() }
    }

    fn output(&self, script: &str) -> String {
        let place = &self.scene.path;
        let policy = Policy { net: Net::None, ..self.policy.clone().writing(place) };
        let done = shell(&policy, script, place, LOOKUP_TIMEOUT, self.cancel);
        done.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default()
    }
}

impl Program<'_> {
    /// Whether it can only be found in a checkout.
    fn is_in_tree(&self) -> bool {
        self.folder.is_some() || self.name.contains('/')
    }

    /// A shell command that prints a line if the program does not exist. The names have no special
    /// characters.
    fn test(&self, index: usize) -> String {
        let Self { folder, name, .. } = self;
        let test = if name.contains('/') {
            format!("[ -e '{name}' ]")
        } else {
            format!("command -v '{name}' >/dev/null 2>&1")
        };
        let enter = folder.map(|it| format!("cd '{it}' 2>/dev/null || exit 0; "));
        format!("({}{test} || echo 'missing {index}')", enter.unwrap_or_default())
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().into_string().ok()).collect()
}

/// The most similar name, if it is similar enough for a typing error.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance_max = (name.len() / 3).max(1);
    names
        .filter(|it| it.len().abs_diff(name.len()) <= distance_max)
        .map(|it| (distance(name, it), it))
        .filter(|it| it.0 <= distance_max && it.0 < name.len())
        .min()
        .map(|it| it.1.to_owned())
}

/// The program that must exist for the check to succeed. `None` if that cannot be told.
fn program(check: &str) -> Option<Program<'_>> {
    let mut folder = None;
    for part in conjunction(check)? {
        let mut words = part.split_whitespace().skip_while(|it| is_assignment(it));
        let name = words.next().filter(|it| is_plain(it))?;
        if part.trim_start().starts_with("PATH=") {
            return None;
        }
        if name != "cd" {
            return Some(Program { check, folder, name });
        }
        let target = words.next().filter(|it| is_plain(it))?;
        if folder.replace(target).is_some() {
            return None;
        }
    }
    None
}

/// The commands that are joined by `&&`: all of them must succeed. `None` if there is any other
/// syntax of the shell.
fn conjunction(check: &str) -> Option<Vec<&str>> {
    let bytes = check.trim().as_bytes();
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    let mut quote = None;
    while at < bytes.len() {
        let (byte, next) = (bytes[at], bytes.get(at + 1).copied());
        let before = at.checked_sub(1).map(|it| bytes[it]);
        match (quote, byte) {
            (Some(b'"') | None, b'\\') => at += 1,
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'&') if next == Some(b'&') => {
                parts.push(&check.trim()[begin..at]);
                begin = at + 2;
                at += 1;
            }
            (None, b'&') if before == Some(b'>') || next == Some(b'>') => {}
            (None, b'&' | b';' | b'|' | b'\n' | b'(' | b')' | b'{' | b'`' | b'#') => return None,
            (Some(_) | None, _) => {}
        }
        at += 1;
    }
    parts.push(&check.trim()[begin..]);
    Some(parts)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    !name.is_empty() && name.chars().all(is_name) && (value.is_empty() || is_plain(value))
}

/// Whether a word means itself in a shell.
fn is_plain(word: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._/+-@%:,".contains(it);
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_check_is_its_first_command() {
        let found = |check| program(check).map(|it| (it.folder.unwrap_or("-"), it.name));
        let cases = [
            ("pytst -q", Some(("-", "pytst"))),
            ("  ./run-tests.sh 2>&1 ", Some(("-", "./run-tests.sh"))),
            ("cd web && npm test", Some(("web", "npm"))),
            ("CI=1 cargo test && cargo clippy", Some(("-", "cargo"))),
            ("pytest -k 'a | b'", Some(("-", "pytest"))),
            ("grep -q \"a;b\" file", Some(("-", "grep"))),
            ("[ -f x ]", None),
            ("! grep x y", None),
            ("foo || true", None),
            ("pytst | tee log", None),
            ("true; pytst", None),
            ("PATH=bin:$PATH pytst", None),
            ("$RUN it", None),
            ("for f in *; do echo; done", None),
            ("if true\nthen pytst\nfi", None),
            ("cd a && cd b && pytst", None),
            ("", None),
        ];
        for (check, wanted) in cases {
            assert_eq!(found(check), wanted, "{check}");
        }
    }

    #[test]
    fn only_a_similar_name_is_near() {
        let names = ["python3", "pytest", "tox", "ls"];
        let near = |it| nearest(it, names.into_iter());
        assert_eq!(near("pytst").as_deref(), Some("pytest"));
        assert_eq!(near("npm"), None);
        assert_eq!(near("l"), None);
    }
}
