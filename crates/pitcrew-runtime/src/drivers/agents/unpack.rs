//! Shares the files that an agent's program unpacks at its start.
//!
//! Each agent has its own home and would unpack them again. Instead this is done once for each
//! program, in a sandbox without a network, and all agents read the result. No agent can write it,
//! because it is executed.

use super::launch::located;
use crate::log::Log;
use pitcrew_config::{BackendSettings, private_dir};
use pitcrew_process::{Cancel, Policy, Run, program_roots, remove_tree, run_confined};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::sync::Mutex;

/// The time limit for unpacking.
const TIME_MAX: Duration = Duration::from_mins(1);
/// Files that no agent has used for this long are removed at the next start.
const UNUSED_MAX: Duration = Duration::from_hours(7 * 24);
/// Incomplete files of this age are leftovers.
const HALF_MAX: Duration = Duration::from_mins(10);

/// The prefix of incomplete or partly removed folders.
const HALF: &str = ".";

type Variables = BTreeMap<String, String>;

pub struct Unpacked {
    /// One folder for each program, shared by all workspaces of a user.
    folder: PathBuf,
    /// The policy of every program.
    policy: Policy,
    log: Arc<Log>,
    /// The failures, by the name of the folder. Locked while unpacking.
    failed: Arc<Mutex<BTreeSet<String>>>,
    over: Cancel,
}

/// A program that can be unpacked.
struct Packed {
    argv: Vec<String>,
    env: Variables,
    variable: String,
    /// The target folder.
    key: String,
    read: Vec<PathBuf>,
}

impl Unpacked {
    /// Removes unused files, including the leftovers of a killed orchestrator.
    pub fn new(folder: PathBuf, policy: Policy, log: Arc<Log>) -> Self {
        sweep(&folder);
        let (failed, over) = Default::default();
        Self { folder, policy, log, failed, over }
    }

    /// Cancels unpacking and starts no more.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// The variable that points an agent to the unpacked files. `None` if the program does not
    /// unpack itself, or unpacking failed: then the agent does it itself.
    pub async fn variable(
        &self,
        name: &str,
        backend: &BackendSettings,
        user: &Variables,
    ) -> Option<(String, PathBuf)> {
        let packed = Packed::of(name, backend, user)?;
        let (place, variable) = (self.folder.join(&packed.key), packed.variable.clone());
        if !place.is_dir() {
            self.unpack(name, packed).await?;
        }
        // If this fails it is removed too early and unpacked again.
        File::open(&place).and_then(|it| it.set_modified(SystemTime::now())).ok();
        Some((variable, place))
    }

    async fn unpack(&self, name: &str, packed: Packed) -> Option<()> {
        // Continues even if the caller is dropped; the next caller waits for it.
        let mut failed = self.failed.clone().lock_owned().await;
        let (folder, policy) = (self.folder.clone(), self.policy.clone());
        let (name, log, over) = (name.to_owned(), self.log.clone(), self.over.clone());
        let unpack = move || {
            if folder.join(&packed.key).is_dir() {
                return Some(());
            }
            if failed.contains(&packed.key) || over.is_cancelled() {
                return None;
            }
            let done = packed.unpack(&folder, &policy, &over).inspect_err(|error| {
                log.line(
                    "Agents",
                    &format!("failed to share the unpacked files of {name}: {error}"),
                );
            });
            if done.is_err() {
                failed.insert(packed.key);
            }
            done.ok()
        };
        tokio::task::spawn_blocking(unpack).await.ok().flatten()
    }
}

impl Packed {
    fn of(name: &str, backend: &BackendSettings, user: &Variables) -> Option<Self> {
        let variable = backend.unpack_to.clone()?;
        let tables = [&backend.env, &backend.root_env, &backend.state_env];
        let is_set = tables.iter().any(|it| it.contains_key(&variable))
            || backend.pass_env.contains(&variable);
        // Only the needed variables: others of the backend may be keys to a paid service.
        let mut env = backend.unpack_env.clone();
        env.retain(|_, value| !value.is_empty());
        if env.is_empty() || is_set {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (&backend.command, &variable, &env).hash(&mut hasher);
        env.extend(backend.env.get("PATH").map(|it| ("PATH".to_owned(), it.clone())));
        let argv = located(backend, user, &mut env);
        let program = PathBuf::from(argv.first()?);
        identity(&argv)?.hash(&mut hasher);
        let key = format!("{name}-{:016x}", hasher.finish());
        Some(Self { argv, env, variable, key, read: program_roots(&program, user) })
    }

    /// Unpacks into a temporary folder first, so that a folder under the final name is complete.
    fn unpack(&self, folder: &Path, policy: &Policy, over: &Cancel) -> io::Result<()> {
        private_dir(folder).map_err(io::Error::other)?;
        let half = aside(folder, &self.key);
        private_dir(&half).map_err(io::Error::other)?;
        let done = self.unpack_to(&half, policy, over).and_then(|()| {
            sync(&half)?;
            let place = folder.join(&self.key);
            // Another orchestrator may have been faster.
            fs::rename(&half, &place)
                .or_else(|it| if place.is_dir() { Ok(()) } else { Err(it) })?;
            File::open(folder)?.sync_all()
        });
        remove_tree(&half).ok();
        done
    }

    fn unpack_to(&self, half: &Path, policy: &Policy, over: &Cancel) -> io::Result<()> {
        let mut policy = policy.clone().writing(half);
        policy.read.extend(self.read.iter().cloned());
        let mut run = Run::new(&self.argv[0], half).args(&self.argv[1..]).timeout(TIME_MAX);
        let variables = self.env.iter().map(|it| (it.0.into(), it.1.into()));
        run.env = variables.chain([(OsString::from(&self.variable), half.into())]).collect();
        let done = run_confined(&policy, run, over).map_err(io::Error::other)?;
        if !done.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = pitcrew_model::text::cut(said.trim(), 300);
            return Err(io::Error::other(format!("it exited with {:?}: {said}", done.code)));
        }
        match fs::read_dir(half)?.next() {
            Some(_) => Ok(()),
            None => Err(io::Error::other("it succeeded but unpacked nothing")),
        }
    }
}

/// Identifies the version of a program: installers create new files, even if size and time are the
/// same. `None` if the real program is unknown: a launcher that starts another program stays the
/// same while that one changes.
fn identity(argv: &[String]) -> Option<impl Hash> {
    let is_launcher = argv[1..].iter().any(|it| !it.starts_with('-'));
    let program = fs::canonicalize(&argv[0]).ok().filter(|_| !is_launcher)?;
    let package = program.ancestors().map(|it| it.join("package.json")).find(|it| it.is_file())?;
    let file = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
    };
    Some((file(&program)?, file(&package)?, program))
}

/// A unique name.
fn aside(folder: &Path, name: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (pid, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    folder.join(format!("{HALF}{name}-{pid}-{now}-{number}"))
}

/// Syncs everything to disk: after a power failure an incomplete folder would look complete.
fn sync(path: &Path) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
        if kind.is_dir() || kind.is_file() {
            File::open(path)?.sync_all()?;
        }
    }
    Ok(())
}

/// Removes unused and incomplete folders.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let age = entry.metadata().and_then(|it| it.modified()).ok();
        let age = age.and_then(|it| it.elapsed().ok()).unwrap_or_default();
        if name.starts_with(HALF) && age > HALF_MAX {
            remove_tree(&entry.path()).ok();
        } else if !name.starts_with(HALF) && age > UNUSED_MAX {
            // A partly removed folder must not look complete.
            let gone = aside(folder, &name);
            if fs::rename(entry.path(), &gone).is_ok() {
                remove_tree(&gone).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;
    use pitcrew_process::run_trusted;
    use tempfile::TempDir;

    struct Scene {
        folder: TempDir,
        backend: BackendSettings,
        user: Variables,
        unpacked: Unpacked,
    }

    /// A program that unpacks itself into a given folder.
    const PROGRAM: &str = "#!/bin/sh\n[ \"$ONLY\" = 1 ] || exit 3\nmkdir \"$TO/pkg\" && od -N 16 /dev/urandom > \"$TO/pkg/part\"\n";

    fn unpacked_in(folder: &Path) -> Unpacked {
        let log = Log::open(&folder.join("logs"), Redactor::new([], &[])).unwrap();
        Unpacked::new(folder.join("state/programs"), Policy::unconfined(), Arc::new(log))
    }

    impl Scene {
        fn new(program: &str) -> Self {
            let folder = TempDir::new().unwrap();
            let mut backend = BackendSettings::of_command(vec!["vendor".into()]);
            backend.unpack_to = Some("TO".into());
            backend.unpack_env.insert("ONLY".into(), "1".into());
            let bin = folder.path().join("bin");
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let user = [("PATH".to_owned(), path)].into();
            let unpacked = unpacked_in(folder.path());
            let scene = Self { folder, backend, user, unpacked };
            scene.install(program);
            scene
        }

        /// Simulates a new orchestrator.
        fn restart(&mut self) {
            self.unpacked = unpacked_in(self.folder.path());
        }

        /// Replaces the file, as installers do. Uses another process, because a file that this
        /// process has open for writing cannot be executed while another test starts a process.
        fn install(&self, program: &str) {
            let bin = self.folder.path().join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(self.folder.path().join("package.json"), "{}").unwrap();
            let install = "cat > new && chmod 700 new && mv new vendor";
            let run = Run::new("sh", &bin).args(["-c", install]).stdin(program);
            assert!(run_trusted(run, &Cancel::default()).unwrap().success());
        }

        /// The path and the content of the unpacked file.
        async fn unpack(&self) -> Option<(PathBuf, String)> {
            let found = self.unpacked.variable("vendor", &self.backend, &self.user).await;
            found.map(|(variable, place)| {
                assert_eq!(variable, "TO");
                let part = fs::read_to_string(place.join("pkg/part")).unwrap();
                (place, part)
            })
        }

        fn places(&self) -> usize {
            fs::read_dir(&self.unpacked.folder).unwrap().count()
        }
    }

    #[tokio::test]
    async fn a_program_unpacks_itself_once() {
        let scene = Scene::new(PROGRAM);
        let first = scene.unpack().await.expect("it is unpacked");
        assert_eq!(scene.unpack().await, Some(first.clone()));
        scene.install(PROGRAM);
        let second = scene.unpack().await.expect("it is unpacked");
        assert_ne!(first, second, "a new file, although its content is the same");
        assert_eq!(scene.places(), 2, "nothing incomplete is left");
        fs::remove_dir_all(&second.0).unwrap();
        assert_eq!(scene.unpack().await.map(|it| it.0), Some(second.0), "the folder was deleted");
    }

    #[tokio::test]
    async fn programs_that_cannot_be_shared_are_skipped() {
        for program in
            ["#!/bin/sh\nexit 3\n", "#!/bin/sh\n", "#!/bin/sh\ntouch \"$TO/a\"; exit 1\n"]
        {
            let counts = "echo run >> \"$(dirname \"$0\")/runs\"";
            let scene = Scene::new(&format!("#!/bin/sh\n{counts}\n{program}\n"));
            assert_eq!(scene.unpack().await, None, "{program}");
            assert_eq!(scene.unpack().await, None, "{program}");
            let runs = fs::read_to_string(scene.folder.path().join("bin/runs")).unwrap();
            assert_eq!((scene.places(), runs.lines().count()), (0, 1), "{program}");
            let logs = fs::read_dir(scene.folder.path().join("logs")).unwrap();
            let said: String =
                logs.map(|it| fs::read_to_string(it.unwrap().path()).unwrap()).collect();
            assert!(said.contains("failed to share the unpacked files of vendor"), "{said}");
        }
        let mut named = Scene::new(PROGRAM);
        named.backend.env.insert("TO".into(), "/mine".into());
        assert_eq!(named.unpack().await, None, "the user has set the folder");
        let mut other = Scene::new(PROGRAM);
        other.backend.unpack_env.values_mut().for_each(String::clear);
        assert_eq!(other.unpack().await, None, "no variable is known for it");
        let mut launcher = Scene::new(PROGRAM);
        launcher.backend.command.push("@vendor/agent".into());
        assert_eq!(launcher.unpack().await, None, "the program it starts may change");
        let shim = Scene::new(PROGRAM);
        fs::remove_file(shim.folder.path().join("package.json")).unwrap();
        assert_eq!(shim.unpack().await, None, "it may start another program");
        let over = Scene::new(PROGRAM);
        over.unpacked.end();
        assert_eq!(over.unpack().await, None, "the orchestrator is stopping");
    }

    /// A cancelled caller does not block the next one.
    #[tokio::test]
    async fn waits_for_unpacking_in_progress() {
        let scene = Scene::new(&format!(
            "{PROGRAM}echo run >> \"$(dirname \"$0\")/runs\"\n: > \"$(dirname \"$0\")/begun\"\nread x < \"$(dirname \"$0\")/go\"\n"
        ));
        let bin = scene.folder.path().join("bin");
        let fifo = Run::new("mkfifo", &bin).arg("go");
        assert!(run_trusted(fifo, &Cancel::default()).unwrap().success());
        let begun = async {
            while !bin.join("begun").exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            found = scene.unpack() => panic!("it is done: {found:?}"),
            () = begun => {}
        }
        let go = async { tokio::fs::write(bin.join("go"), "go\n").await.unwrap() };
        let (found, ()) = tokio::join!(scene.unpack(), go);
        assert!(found.is_some(), "the first run continues");
        assert_eq!(fs::read_to_string(bin.join("runs")).unwrap().lines().count(), 1);
    }

    #[tokio::test]
    async fn unused_files_are_removed() {
        let mut scene = Scene::new(PROGRAM);
        let (place, _) = scene.unpack().await.expect("it is unpacked");
        let half = scene.unpacked.folder.join(".vendor-1");
        let age = |path: &Path, age: Duration| {
            let then = SystemTime::now() - age - Duration::from_secs(1);
            File::open(path).unwrap().set_modified(then).unwrap();
        };
        fs::create_dir(&half).unwrap();
        age(&place, UNUSED_MAX);
        scene.unpack().await.expect("it is used again");
        scene.restart();
        assert!(place.is_dir() && half.is_dir(), "one was just used, the other just started");
        age(&half, HALF_MAX);
        scene.restart();
        assert!(place.is_dir() && !half.exists());
        age(&place, UNUSED_MAX);
        scene.restart();
        assert_eq!(scene.places(), 0);
    }
}
