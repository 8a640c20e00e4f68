//! A checkout, what is outside of it, and programs that run in between.

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

/// A user who is not root and owns nothing else.
const NOBODY: u32 = 65_534;

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Current,
    Ordinary,
}

/// The current user, and where that is root an ordinary one.
pub fn users() -> Vec<User> {
    if is_root() { vec![User::Current, User::Ordinary] } else { vec![User::Current] }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a program may read everywhere: the system.
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
        // By another process: a program that this one has open for writing cannot be run, and whatever
        // other tests start meanwhile has it open too.
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

    /// Everything here belongs to who runs the programs.
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

    /// Holds a program as tier T2 does: the system can be read and the checkout written, the
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

    /// Runs a script in the checkout with nothing that holds it.
    pub fn free(&self, script: &str) -> Finished {
        free(self.run(&[]).args(["sh", "-c", script]))
    }

    pub fn confined(&self, spec: &ConfineSpec, script: &str) -> Finished {
        self.confined_program(spec, &["sh", "-c", script])
    }

    pub fn confined_program(&self, spec: &ConfineSpec, argv: &[&str]) -> Finished {
        free(self.run(&self.launch(spec)).args(argv))
    }

    /// The words before a program that confine it.
    pub fn launch(&self, spec: &ConfineSpec) -> [String; 4] {
        let spec = serde_json::to_string(spec).unwrap();
        [self.launcher.display().to_string(), "confine".into(), spec, "--".into()]
    }

    /// A run in the checkout as the user, that begins with these words.
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

    /// What succeeds freely and is refused under `spec`. Returns what the refused program said.
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

/// A program outside that waits until it is dropped.
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
