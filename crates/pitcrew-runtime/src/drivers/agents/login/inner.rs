//! A script in front of the program that an adapter starts.
//!
//! Some adapters start their program repeatedly only to query facts that are already known. The
//! script answers these calls and forwards all others unchanged.

use pitcrew_config::BackendSettings;
use pitcrew_process::find_program;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

type Variables = BTreeMap<String, String>;

/// The package folder.
const PACKAGES: &str = "node_modules";

/// The path of the script in a private home.
const SCRIPT: &str = ".pitcrew/inner";

/// The script and its path in a home. `None` if the user sets the program, if it is unclear which
/// one the adapter would use, or if no login was found: then the adapter reports that, and only the
/// program knows for sure.
pub fn script(
    backend: &BackendSettings,
    user: &Variables,
    home: &Path,
) -> Option<(PathBuf, String)> {
    free_variable(backend, user)?;
    backend.login_evidence(user)?;
    let answers = backend.inner_answers.iter().filter(|it| !it.1.is_empty());
    let answers: String = answers.map(|(call, answer)| answered(call, answer)).collect();
    if answers.is_empty() {
        return None;
    }
    let adapter = find_program(backend.command.first()?, user)?.path;
    let program = program(&fs::canonicalize(adapter).ok()?, &backend.inner_programs)?;
    Some((home.join(SCRIPT), text(&answers, program.to_str()?)))
}

/// The variable that points the adapter to the script of a home that has one. The script is made
/// executable when it is complete.
pub fn variable(
    backend: &BackendSettings,
    user: &Variables,
    home: &Path,
) -> Option<(String, String)> {
    let script = home.join(SCRIPT).display().to_string();
    let variable = free_variable(backend, user)?.clone();
    find_program(&script, user).map(|_| (variable, script))
}

/// The variable, unless the user has set it.
fn free_variable<'a>(backend: &'a BackendSettings, user: &Variables) -> Option<&'a String> {
    let is_set = |it: &&String| {
        [user, &backend.env, &backend.root_env].iter().any(|all| all.contains_key(*it))
    };
    backend.inner_env.as_ref().filter(|it| !is_set(it))
}

/// Searches for the installed program as package managers do: in the nearest parent folder with
/// packages, but not above the packages of the adapter. The sandbox shares no other folders.
fn program(adapter: &Path, names: &[String]) -> Option<PathBuf> {
    let root = adapter.ancestors().filter(|it| it.ends_with(PACKAGES)).last()?;
    let folders = adapter.ancestors().map(|it| it.join(PACKAGES)).filter(|it| it.starts_with(root));
    let found = |folder: PathBuf| -> Vec<PathBuf> {
        names.iter().map(|it| folder.join(it)).filter(|it| it.is_file()).collect()
    };
    let found = folders.map(found).find(|it| !it.is_empty())?;
    // If packages for two variants of a system are installed, only the adapter knows which one it
    // uses.
    let [program] = <[PathBuf; 1]>::try_from(found).ok()?;
    Some(program)
}

fn answered(call: &str, answer: &str) -> String {
    format!("{}) printf '%s\\n' {} && exit ;;\n", quoted(call), quoted(answer))
}

fn text(answers: &str, program: &str) -> String {
    format!("#!/bin/sh\ncase \"$*\" in\n{answers}esac\nexec {} \"$@\"\n", quoted(program))
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_process::{Cancel, Run, run_trusted};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    const ONE: &str = "@vendor/agent-linux-x64/agent";
    const OTHER: &str = "@vendor/agent-linux-x64-musl/agent";

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// An adapter as npm installs it: a link to a file of its package.
    struct Installed {
        folder: TempDir,
        backend: BackendSettings,
        user: Variables,
    }

    impl Installed {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let packages = folder.path().join("it's/node_modules");
            put(&packages.join("@vendor/adapter/dist/index.js"), "#!/bin/sh\n");
            put(&packages.join(ONE), "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
            let bin = folder.path().join("bin");
            fs::create_dir(&bin).unwrap();
            let adapter = packages.join("@vendor/adapter/dist/index.js");
            std::os::unix::fs::symlink(adapter, bin.join("adapter")).unwrap();
            let mut backend = BackendSettings::of_command(vec!["adapter".into()]);
            backend.inner_env = Some("AGENT".into());
            backend.inner_programs = vec![ONE.into(), OTHER.into()];
            backend.inner_answers.insert("who am i".into(), "it's \"me\" $HOME".into());
            backend.login_env = vec!["KEY".into()];
            let path = ("PATH".to_owned(), bin.display().to_string());
            let user = [path, ("KEY".to_owned(), "x".to_owned())].into();
            Self { folder, backend, user }
        }

        fn packages(&self) -> PathBuf {
            self.folder.path().join("it's/node_modules")
        }

        fn script(&self) -> Option<(PathBuf, String)> {
            script(&self.backend, &self.user, &self.folder.path().join("home"))
        }
    }

    /// A file that was just written cannot be executed while another test starts a process.
    fn run(script: &Path, words: &[&str]) -> String {
        let run = words.iter().fold(Run::new("sh", "/").arg(script), Run::arg);
        let done = run_trusted(run, &Cancel::default()).unwrap();
        assert!(done.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    #[test]
    fn known_calls_are_answered_and_others_forwarded() {
        let installed = Installed::new();
        let (path, text) = installed.script().expect("the program is installed");
        let home = installed.folder.path().join("home");
        let variable = || variable(&installed.backend, &installed.user, &home);
        assert_eq!(variable(), None, "a home without a script");
        put(&path, &text);
        assert_eq!(run(&path, &["who", "am", "i"]), "it's \"me\" $HOME\n");
        assert_eq!(run(&path, &["who", "am", "i", "*"]), "<who><am><i><*>");
        assert_eq!(run(&path, &["--print", "a  b", "it's", ""]), "<--print><a  b><it's><>");
        assert_eq!(variable(), Some(("AGENT".into(), path.display().to_string())));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(variable(), None, "an incomplete script");
    }

    #[test]
    fn an_ambiguous_program_gets_no_script() {
        let mut named = Installed::new();
        named.backend.root_env.insert("AGENT".into(), "/mine".into());
        assert_eq!(named.script(), None, "the user has set the program");
        let mut no_login = Installed::new();
        no_login.user.remove("KEY");
        assert_eq!(no_login.script(), None, "there is no login, and the adapter reports that");
        let mut silent = Installed::new();
        silent.backend.inner_answers.values_mut().for_each(String::clear);
        assert_eq!(silent.script(), None, "there is nothing to answer");
    }

    #[test]
    fn uses_only_the_program_that_the_adapter_would_use() {
        let two = Installed::new();
        let above = two.folder.path().join("node_modules");
        put(&above.join(ONE), "");
        put(&two.packages().join(OTHER), "");
        assert_eq!(two.script(), None, "it is unclear which one it uses");
        fs::remove_file(two.packages().join(ONE)).unwrap();
        let (_, text) = two.script().expect("one is left");
        assert!(text.contains(OTHER), "{text}");
        fs::remove_file(two.packages().join(OTHER)).unwrap();
        assert_eq!(two.script(), None, "the one above was not installed with it");
    }
}
