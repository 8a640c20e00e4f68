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

/// Where the script is in a private home.
const SCRIPT: &str = ".pitcrew/inner";

/// The script and its place in a home. Nothing where the user names the program, or where it is not
/// clear which one the adapter would take.
pub fn script(
    backend: &BackendSettings,
    user: &BTreeMap<String, String>,
    home: &Path,
) -> Option<(PathBuf, String)> {
    let variable = backend.inner_env.as_ref()?;
    let is_named = user.contains_key(variable) || backend.env.contains_key(variable);
    let answers = backend.inner_answers.iter().filter(|it| !it.1.is_empty());
    let answers: String = answers.map(|(call, answer)| answered(call, answer)).collect();
    if is_named || answers.is_empty() {
        return None;
    }
    let adapter = find_program(backend.command.first()?, user)?.path;
    let program = program(&fs::canonicalize(adapter).ok()?, &backend.inner_programs)?;
    Some((home.join(SCRIPT), text(&answers, program.to_str()?)))
}

/// The variable that leads the adapter to the script of a home that has one.
pub fn variable(backend: &BackendSettings, home: &Path) -> Option<(String, String)> {
    let script = home.join(SCRIPT);
    let variable = backend.inner_env.clone().filter(|_| script.is_file())?;
    Some((variable, script.display().to_string()))
}

/// The one that is there, as packages are looked for: in the nearest folder above first.
fn program(adapter: &Path, names: &[String]) -> Option<PathBuf> {
    adapter.ancestors().find_map(|folder| {
        let packages = folder.join("node_modules");
        let mut found = names.iter().map(|it| packages.join(it)).filter(|it| it.is_file());
        // For two kinds of one system, only the adapter knows which it takes.
        found.next().filter(|_| found.next().is_none())
    })
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
        user: BTreeMap<String, String>,
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
            let user = [("PATH".to_owned(), bin.display().to_string())].into();
            Self { folder, backend, user }
        }

        fn script(&self) -> Option<(PathBuf, String)> {
            script(&self.backend, &self.user, &self.folder.path().join("home"))
        }
    }

    fn run(script: &Path, words: &[&str]) -> String {
        let run = words.iter().fold(Run::new(script, "/"), Run::arg);
        let done = run_trusted(run, &Cancel::default()).unwrap();
        assert!(done.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    #[test]
    fn what_is_known_is_answered_and_the_rest_is_handed_on() {
        let installed = Installed::new();
        let (path, text) = installed.script().expect("the program is installed");
        put(&path, &text);
        assert_eq!(run(&path, &["who", "am", "i"]), "it's \"me\" $HOME\n");
        assert_eq!(run(&path, &["who", "am", "i", "*"]), "<who><am><i><*>");
        assert_eq!(run(&path, &["--print", "a  b", "it's", ""]), "<--print><a  b><it's><>");
        let home = installed.folder.path().join("home");
        let variable = variable(&installed.backend, &home).expect("the script is there");
        assert_eq!(variable, ("AGENT".into(), path.display().to_string()));
    }

    #[test]
    fn whoever_is_not_understood_is_left_alone() {
        let named =
            Installed { user: [("AGENT".into(), "/mine".into())].into(), ..Installed::new() };
        assert_eq!(named.script(), None, "the user has said which program it is");
        let mut unknown = Installed::new();
        unknown.backend.inner_programs = vec![OTHER.into()];
        assert_eq!(unknown.script(), None, "it is not where it should be");
        let two = Installed::new();
        put(&two.folder.path().join("it's/node_modules").join(OTHER), "");
        assert_eq!(two.script(), None, "nobody knows which of the two it takes");
        let mut silent = Installed::new();
        silent.backend.inner_answers.values_mut().for_each(String::clear);
        assert_eq!(silent.script(), None, "there is nothing to answer");
        let home = two.folder.path().join("home");
        assert_eq!(variable(&two.backend, &home), None, "a home without a script");
    }
}
