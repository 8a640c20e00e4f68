//! The program that an adapter starts for itself, and a script before it.
//!
//! Some adapters start their program again and again for what they tell nobody but us. The script
//! answers these calls and hands all others on, so what it does not know is as without it.

use pitcrew_config::BackendSettings;
use pitcrew_process::find_program;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

type Variables = BTreeMap<String, String>;

/// Where packages are.
const PACKAGES: &str = "node_modules";

/// Where the script is in a private home.
const SCRIPT: &str = ".pitcrew/inner";

/// The script and its place in a home. Nothing where the user names the program, where it is not
/// clear which one the adapter would take, or where nobody seems to be logged in: who is not is told so
/// by the adapter, and only the program knows.
pub fn script(
    backend: &BackendSettings,
    user: &Variables,
    home: &Path,
) -> Option<(PathBuf, String)> {
    free_variable(backend, user)?;
    backend.login_found(user)?;
    let answers = backend.inner_answers.iter().filter(|it| !it.1.is_empty());
    let answers: String = answers.map(|(call, answer)| answered(call, answer)).collect();
    if answers.is_empty() {
        return None;
    }
    let adapter = find_program(backend.command.first()?, user)?.path;
    let program = program(&fs::canonicalize(adapter).ok()?, &backend.inner_programs)?;
    Some((home.join(SCRIPT), text(&answers, program.to_str()?)))
}

/// The variable that leads the adapter to the script of a home that has one. It is made executable when
/// it is whole.
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

/// The one that is there, as packages are looked for: in the nearest folder above that has any, and not
/// beyond the packages that the adapter was installed with. Its box shares no others.
fn program(adapter: &Path, names: &[String]) -> Option<PathBuf> {
    let root = adapter.ancestors().filter(|it| it.ends_with(PACKAGES)).last()?;
    let folders = adapter.ancestors().map(|it| it.join(PACKAGES)).filter(|it| it.starts_with(root));
    let found = |folder: PathBuf| -> Vec<PathBuf> {
        names.iter().map(|it| folder.join(it)).filter(|it| it.is_file()).collect()
    };
    let found = folders.map(found).find(|it| !it.is_empty())?;
    // For two kinds of one system, only the adapter knows which it takes.
    let [program] = <[PathBuf; 1]>::try_from(found).ok()?;
    Some(program)
}

fn answered(call: &str, answer: &str) -> String {
    format!("{}) printf '%s\\n' {} && exit ;;\n", quoted(call), quoted(answer))
}

fn text(answers: &str, program: &str) -> String {
    format!("#!/bin/sh\ncase \"$*\" in\n{answers}esac\nexec {} \"$@\"\n", quoted(program))
}

/// As one word of a shell that stands for nothing but itself.
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

    /// An adapter as npm installs it, by a link to a file of its package.
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

    /// A file that was just written cannot be executed while somebody else is being started.
    fn run(script: &Path, words: &[&str]) -> String {
        let run = words.iter().fold(Run::new("sh", "/").arg(script), Run::arg);
        let done = run_trusted(run, &Cancel::default()).unwrap();
        assert!(done.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    #[test]
    fn what_is_known_is_answered_and_the_rest_is_handed_on() {
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
        assert_eq!(variable(), None, "a script that was not finished");
    }

    #[test]
    fn whoever_is_not_understood_is_left_alone() {
        let mut named = Installed::new();
        named.backend.root_env.insert("AGENT".into(), "/mine".into());
        assert_eq!(named.script(), None, "the user has said which program it is");
        let mut nobody = Installed::new();
        nobody.user.remove("KEY");
        assert_eq!(nobody.script(), None, "nobody is logged in, and is to be told so");
        let mut silent = Installed::new();
        silent.backend.inner_answers.values_mut().for_each(String::clear);
        assert_eq!(silent.script(), None, "there is nothing to answer");
    }

    #[test]
    fn no_program_is_taken_that_the_adapter_would_not_take() {
        let two = Installed::new();
        let above = two.folder.path().join("node_modules");
        put(&above.join(ONE), "");
        put(&two.packages().join(OTHER), "");
        assert_eq!(two.script(), None, "nobody knows which of the two it takes");
        fs::remove_file(two.packages().join(ONE)).unwrap();
        let (_, text) = two.script().expect("one is left");
        assert!(text.contains(OTHER), "{text}");
        fs::remove_file(two.packages().join(OTHER)).unwrap();
        assert_eq!(two.script(), None, "what is above was not installed with it");
    }
}
