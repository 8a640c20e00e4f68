//! A checkout, files outside it, and programs that run in the checkout.

use crate::program::shim_program;
use pitcrew_process::{
    Calls, Cancel, ConfineSpec, Files, Finished, Limits, Policy, Run, Unix, run_confined,
    run_trusted,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);

/// A user that is not root and owns nothing else.
const NOBODY: u32 = 65_534;

/// The user that runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Current,
    Ordinary,
}

/// The current user and, if that is root, an ordinary one.
pub fn users() -> Vec<User> {
    if is_root() { vec![User::Current, User::Ordinary] } else { vec![User::Current] }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The system folders that every program may read.
pub const SYSTEM: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/etc"];

pub struct Scene {
    root: TempDir,
    user: User,
    launcher: PathBuf,
}

impl Scene {
    pub fn new(user: User) -> Self {
        let root = TempDir::new().unwrap();
        let launcher = root.path().join("launcher");
        // Copied by another process: a program that this process has open for writing cannot be
        // executed, and processes that other tests start at the same time inherit the open file.
        let copy = Run::new("cp", root.path()).arg(shim_program()).arg(&launcher);
        assert!(run_trusted(copy, &Cancel::default()).unwrap().success());
        let scene = Self { root, user, launcher };
        for folder in ["checkout", "outside"] {
            fs::create_dir(scene.path(folder)).unwrap();
        }
        fs::write(scene.path("outside/secret"), "the secret\n").unwrap();
        fs::write(scene.path("checkout/own"), "own\n").unwrap();
        fs::set_permissions(scene.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        scene.give();
        scene
    }

    /// Gives all files here to the user that runs the programs.
    pub fn give(&self) {
        match self.user {
            User::Current => {}
            User::Ordinary => {
                let run = Run::new("chown", "/").arg("-R").arg(NOBODY.to_string());
                assert!(free(run.arg(self.root.path())).success());
            }
        }
    }

    pub fn path(&self, within: &str) -> PathBuf {
        self.root.path().join(within)
    }

    /// The restrictions of tier T2: the system is readable, the checkout is writable, and the
    /// network is closed.
    pub fn spec(&self) -> ConfineSpec {
        let read = SYSTEM.iter().map(PathBuf::from).chain([self.launcher.clone()]);
        ConfineSpec {
            limits: Limits::default(),
            folders: Vec::new(),
            home: None,
            way_out: None,
            relays: Vec::new(),
            lease: None,
            files: Some(Files {
                read: read.collect(),
                write: vec![self.path("checkout")],
                deny: Vec::new(),
                zone: None,
            }),
            ports: Some(Vec::new()),
            unix: Unix::Only(Vec::new()),
            calls: Calls::Unboxed,
            takes_ends: false,
            waits: false,
            user: None,
        }
    }

    /// Runs a script in the checkout without confinement.
    pub fn free(&self, script: &str) -> Finished {
        free(self.run(&[]).args(["sh", "-c", script]))
    }

    pub fn confined(&self, spec: &ConfineSpec, script: &str) -> Finished {
        self.confined_program(spec, &["sh", "-c", script])
    }

    pub fn confined_program(&self, spec: &ConfineSpec, argv: &[&str]) -> Finished {
        free(self.run(&self.launch(spec)).args(argv))
    }

    /// The arguments before a program that confine it.
    pub fn launch(&self, spec: &ConfineSpec) -> [String; 4] {
        let spec = serde_json::to_string(spec).unwrap();
        [self.launcher.display().to_string(), "confine".into(), spec, "--".into()]
    }

    /// Builds a run in the checkout as the user, starting with these arguments.
    pub fn run(&self, words: &[String]) -> Run {
        let user = match self.user {
            User::Current => Vec::new(),
            User::Ordinary => {
                let user = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
                let rest = ["--clear-groups", "--inh-caps=-all", "--"].map(String::from);
                [vec!["setpriv".to_owned()], user.to_vec(), rest.to_vec()].concat()
            }
        };
        let mut run = Run::new("env", self.path("checkout")).timeout(LONG);
        run = run.arg(format!("HOME={}", self.path("checkout").display()));
        run.args(user).args(words)
    }

    /// Checks that a script succeeds without confinement and is refused under `spec`. Returns the
    /// output of the refused run.
    pub fn only_free(&self, spec: &ConfineSpec, name: &str, script: &str) -> String {
        let freely = self.free(script);
        assert!(freely.success(), "{name} proves nothing, {:?}: {}", self.user, describe(&freely));
        let held = self.confined(spec, script);
        assert!(!held.success(), "{name} succeeded, {:?}: {}", self.user, describe(&held));
        assert_ne!(held.code, Some(125), "{name} did not run: {}", describe(&held));
        describe(&held)
    }
}

fn free(run: Run) -> Finished {
    run_confined(&Policy::unconfined(), run, &Cancel::default()).unwrap()
}

pub fn describe(finished: &Finished) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?} {}{}", finished.code, text(&finished.stdout), text(&finished.stderr))
}

/// A program outside that runs until this is dropped.
pub struct Bystander(std::process::Child);

impl Bystander {
    #[expect(clippy::disallowed_methods, reason = "it must be outside of what is tested")]
    pub fn new(scene: &Scene) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new("sleep");
        command.arg("600").env("PASSWORD", "in the environment").current_dir("/");
        if scene.user == User::Ordinary {
            command.uid(NOBODY).gid(NOBODY);
        }
        Self(command.spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
