//! Tier T3: the user's tools start in a box from where their installers put them, and secrets
//! beside them cannot be read there.

#[path = "common/program.rs"]
mod program;

use pitcrew_process::{Cancel, Net, Policy, Run, Tier, program_roots, roots, run_confined};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

struct Lab {
    _folder: TempDir,
    home: PathBuf,
}

impl Lab {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let home = folder.path().canonicalize().expect("it exists").join("home");
        fs::create_dir_all(home.join("shop/checkout")).expect("a folder");
        Self { _folder: folder, home }
    }

    /// Creates a file that every user can execute. It is run by a shell.
    fn put(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("room");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        symlink(target, path).expect("a link");
    }

    fn environment(&self, path: &[&str]) -> BTreeMap<String, String> {
        let own = path.iter().map(|it| self.home.join(it).display().to_string());
        let path: Vec<String> = own.chain(["/usr/bin".into(), "/bin".into()]).collect();
        [("HOME".to_owned(), self.home.display().to_string()), ("PATH".into(), path.join(":"))]
            .into()
    }

    /// Returns the policy of a program for a repository in the home.
    fn policy(&self, path: &[&str]) -> Policy {
        let environment = self.environment(path);
        let repository = self.home.join("shop");
        let roots = roots(&environment).without_repository(&repository, Some(&self.home));
        Policy {
            tier: Tier::T3,
            env: environment.into_iter().collect(),
            read: roots.read,
            write: vec![self.checkout()],
            deny: roots.deny,
            net: Net::None,
            launcher: Some(program::shim_program()),
            ..Policy::unconfined()
        }
    }

    fn checkout(&self) -> PathBuf {
        self.home.join("shop/checkout")
    }
}

#[track_caller]
fn says(policy: &Policy, cwd: &Path, script: &str, expected: &str) {
    let finished =
        run_confined(policy, Run::shell(script, cwd), &Cancel::default()).expect("it runs");
    let [said, errors] =
        [&finished.stdout, &finished.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    assert_eq!((finished.code, said.trim_end()), (Some(0), expected), "{script}: {errors}");
}

/// Installed as by npm with a separate prefix, nvm, pipx, uv, a self-updating program, pyenv and
/// cargo.
#[test]
fn tools_of_every_installer_start_and_files_beside_them_stay_hidden() {
    let lab = Lab::new();
    let here = "here=$(dirname \"$(readlink -f \"$0\")\")";
    let reads = |below: &str| format!("#!/bin/sh\n{here}\ncat \"$here/{below}\"\n");
    lab.put(".npm-global/lib/node_modules/agent/cli.js", &reads("lib.js"));
    lab.put(".npm-global/lib/node_modules/agent/lib.js", "npm");
    lab.link(".npm-global/bin/by-npm", "../lib/node_modules/agent/cli.js");
    lab.put(".nvm/versions/node/v22/bin/by-nvm", &reads("../lib/node_modules/npm/lib.js"));
    lab.put(".nvm/versions/node/v22/lib/node_modules/npm/lib.js", "nvm");
    lab.put(".local/share/pipx/venvs/app/bin/by-pipx", &reads("../lib/python3.12/app.py"));
    lab.put(".local/share/pipx/venvs/app/lib/python3.12/app.py", "pipx");
    lab.put(".local/share/pipx/venvs/app/pyvenv.cfg", "");
    lab.link(".local/bin/by-pipx", "../share/pipx/venvs/app/bin/by-pipx");
    lab.put(".local/share/uv/tools/app/bin/by-uv", &reads("../lib/python3.12/app.py"));
    lab.put(".local/share/uv/tools/app/lib/python3.12/app.py", "uv");
    lab.put(".local/share/uv/tools/app/pyvenv.cfg", "");
    lab.link(".local/bin/by-uv", "../share/uv/tools/app/bin/by-uv");
    lab.put(".local/share/agent/versions/2.0/by-updater", &reads("part.js"));
    lab.put(".local/share/agent/versions/2.0/part.js", "updater");
    lab.link(".local/bin/by-updater", "../share/agent/versions/2.0/by-updater");
    lab.put(".pyenv/shims/by-pyenv", "#!/bin/sh\nexec \"$HOME/.pyenv/libexec/pyenv\"\n");
    lab.put(".pyenv/libexec/pyenv", "#!/bin/sh\nexec \"$HOME/.pyenv/versions/3.12/bin/python\"\n");
    lab.put(".pyenv/versions/3.12/bin/python", &reads("../lib/python3.12/os.py"));
    lab.put(".pyenv/versions/3.12/lib/python3.12/os.py", "pyenv");
    lab.put(".cargo/bin/by-cargo", "#!/bin/sh\necho cargo\n");
    let path = [
        ".npm-global/bin",
        ".nvm/versions/node/v22/bin",
        ".local/bin",
        ".pyenv/shims",
        ".cargo/bin",
        "shop/bin",
        "shop/tools",
    ];
    let secrets = [
        ".npm-global/.env",
        ".nvm/.env",
        ".local/share/keyrings/login",
        ".local/share/agent/auth.json",
        ".local/share/pipx/venvs/app/.env",
        ".pyenv/.env",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".gradle/gradle.properties",
        "shop/.env",
        "shop/bin/run",
        "shop/tools/run",
        "project/.env",
        "project/bin/settings",
    ];
    for secret in secrets {
        lab.put(secret, "hidden");
    }
    lab.put(".gradle/wrapper/dists/gradle.zip", "gradle");
    lab.put("project/bin/run", "#!/bin/sh\necho project\n");
    lab.link(".local/bin/by-link", "../../project/bin/run");
    let (policy, checkout) = (lab.policy(&path), lab.checkout());
    for tool in ["npm", "nvm", "pipx", "uv", "updater", "pyenv", "cargo"] {
        says(&policy, &checkout, &format!("by-{tool}"), tool);
    }
    says(&policy, &checkout, "by-link; cat ~/.gradle/wrapper/dists/gradle.zip", "project\ngradle");
    let found = "grep -rls hidden \"$HOME\"; test $? = 1";
    says(&policy, &checkout, found, "");
    let list = secrets.map(|it| format!("cat ~/{it} 2>/dev/null;")).concat();
    says(&policy, &checkout, &format!("{list} echo none"), "none");
}

/// Even if it is in a system folder or contains our own executable.
#[test]
fn repository_is_hidden_wherever_it_is() {
    let lab = Lab::new();
    lab.put("shop/.env", "hidden");
    lab.put("shop/target/tool", "#!/bin/sh\necho named\n");
    let mut policy = lab.policy(&[]);
    policy.read.push(lab.home.clone());
    let script = "cat ../.env 2>/dev/null || echo closed";
    says(&policy, &lab.checkout(), script, "closed");
    policy.read.push(lab.home.join("shop/target/tool"));
    says(&policy, &lab.checkout(), "../target/tool; ls -A ..", "named\ncheckout\ntarget");
}

/// The programs of this machine, as a user starts them.
#[test]
fn tools_of_this_machine_start_in_a_box() {
    let lab = Lab::new();
    let user: BTreeMap<String, String> = std::env::vars().collect();
    let roots = roots(&user);
    let policy = Policy { read: roots.read, deny: roots.deny, env: Vec::new(), ..lab.policy(&[]) };
    for tool in ["node", "npm", "python3", "cargo", "git"] {
        let run = || Run::new(tool, lab.checkout()).arg("--version");
        let is_there = pitcrew_process::run_trusted(run(), &Cancel::default());
        if !is_there.is_ok_and(|it| it.success()) {
            continue;
        }
        let finished = run_confined(&policy, run(), &Cancel::default()).expect("it runs");
        let errors = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert!(finished.success(), "{tool}: {errors}");
    }
}

#[test]
fn script_is_shared_with_its_packages_and_without_its_folder() {
    let lab = Lab::new();
    lab.put("agent/cli.js", "");
    lab.put("agent/node_modules/part/index.js", "");
    lab.put("agent/.env", "hidden");
    let shown = program_roots(&lab.home.join("agent/cli.js"), &lab.environment(&[]));
    let expected = ["agent/cli.js", "agent/node_modules"].map(|it| lab.home.join(it));
    assert_eq!(shown, expected);
}
