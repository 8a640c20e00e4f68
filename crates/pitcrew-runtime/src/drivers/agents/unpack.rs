//! What the program of an agent unpacks of itself before it does anything.
//!
//! Each agent has a home of its own, and would do so again. It is done once for a program, in a box
//! that reaches nothing, and all agents read it. No agent ever writes it: it is run.

use crate::log::Log;
use pitcrew_config::{BackendSettings, private_dir};
use pitcrew_process::{Cancel, Policy, Run, find_program, program_roots, run_confined};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::sync::Mutex;

/// How long a program may take for it.
const TIME_MAX: Duration = Duration::from_secs(60);
/// What nobody has used for so long is removed when something new is unpacked.
const UNUSED_MAX: Duration = Duration::from_hours(30 * 24);
/// What is half unpacked for so long is nobody's.
const HALF_MAX: Duration = Duration::from_hours(1);

/// How the names of what is half unpacked begin.
const HALF: &str = ".";

type Variables = BTreeMap<String, String>;

pub struct Unpacked {
    /// One folder for each program, which all workspaces of a user share.
    folder: PathBuf,
    /// What every program may do.
    policy: Policy,
    log: Arc<Log>,
    /// What was tried, by the name of its folder, and whether it was done. Held while it is.
    tried: Mutex<BTreeMap<String, bool>>,
}

/// A program that is to be unpacked.
struct Packed {
    argv: Vec<String>,
    env: Variables,
    variable: String,
    read: Vec<PathBuf>,
}

impl Unpacked {
    pub fn new(folder: PathBuf, policy: Policy, log: Arc<Log>) -> Self {
        Self { folder, policy, log, tried: Mutex::default() }
    }

    /// The variable that leads an agent to what its program has unpacked. Nothing where the program
    /// does no such thing, or it cannot be done here: then the agent does it by itself.
    pub async fn variable(
        &self,
        name: &str,
        backend: &BackendSettings,
        user: &Variables,
    ) -> Option<(String, PathBuf)> {
        let packed = Packed::of(backend, user)?;
        let (key, variable) = (packed.key(name)?, packed.variable.clone());
        let place = self.folder.join(&key);
        let mut tried = self.tried.lock().await;
        // Somebody may have cleaned up.
        let is_there = place.is_dir();
        if !is_there && tried.get(&key) == Some(&false) {
            return None;
        }
        if !is_there {
            let (folder, policy, to) = (self.folder.clone(), self.policy.clone(), key.clone());
            let unpack = move || {
                private_dir(&folder).map_err(io::Error::other)?;
                sweep(&folder, &to);
                packed.unpack(&folder, &to, &policy)
            };
            let done = tokio::task::spawn_blocking(unpack).await.map_err(io::Error::other);
            let done = done.and_then(|it| it);
            if let Err(error) = &done {
                let what = format!("what {name} unpacks is not shared by its agents: {error}");
                self.log.line("Agents", &what);
            }
            tried.insert(key, done.is_ok());
            done.ok()?;
        }
        // Where that fails it is removed sooner than it should be, and unpacked again.
        File::open(&place).and_then(|it| it.set_modified(SystemTime::now())).ok();
        Some((variable, place))
    }
}

impl Packed {
    fn of(backend: &BackendSettings, user: &Variables) -> Option<Self> {
        let variable = backend.unpack_to.clone()?;
        let is_set = backend.env.contains_key(&variable) || backend.pass_env.contains(&variable);
        let is_told = backend.unpack_env.values().any(|it| !it.is_empty());
        if !is_told || is_set {
            return None;
        }
        let mut argv = backend.command.clone();
        let found = find_program(argv.first()?, user)?;
        let mut env = backend.env.clone();
        env.extend(backend.unpack_env.clone());
        env.retain(|_, value| !value.is_empty());
        if let (false, Some(folder)) = (found.on_path, found.path.parent()) {
            // The interpreter that came with it.
            let path = user.get("PATH").cloned().unwrap_or_default();
            env.insert("PATH".into(), format!("{path}:{}", folder.display()));
        }
        let read = program_roots(&found.path, user);
        argv[0] = found.path.display().to_string();
        Some(Self { argv, env, variable, read })
    }

    /// Another one for each program and each version of it: who installs one makes its files anew, also
    /// where their size and time say nothing.
    fn key(&self, name: &str) -> Option<String> {
        let program = fs::canonicalize(&self.argv[0]).ok()?;
        let package = program.ancestors().map(|it| it.join("package.json")).find(|it| it.is_file());
        let mut hasher = DefaultHasher::new();
        (&program, &self.argv, &self.env, &self.variable).hash(&mut hasher);
        for file in [Some(program.clone()), package].into_iter().flatten() {
            let found = fs::metadata(file).ok()?;
            let times = (found.ctime(), found.ctime_nsec());
            (found.dev(), found.ino(), found.len(), times).hash(&mut hasher);
        }
        Some(format!("{name}-{:016x}", hasher.finish()))
    }

    /// Has it in a folder of its own first: what is there under its name is whole.
    fn unpack(&self, folder: &Path, to: &str, policy: &Policy) -> io::Result<()> {
        let half = folder.join(format!("{HALF}{to}-{}", std::process::id()));
        fs::remove_dir_all(&half).ok();
        private_dir(&half).map_err(io::Error::other)?;
        let done = self.unpack_to(&half, policy).and_then(|()| {
            let place = folder.join(to);
            // Somebody else may have been sooner.
            fs::rename(&half, &place).or_else(|it| if place.is_dir() { Ok(()) } else { Err(it) })
        });
        fs::remove_dir_all(&half).ok();
        done
    }

    fn unpack_to(&self, half: &Path, policy: &Policy) -> io::Result<()> {
        let mut policy = policy.clone().writing(half);
        policy.read.extend(self.read.iter().cloned());
        let mut run = Run::new(&self.argv[0], half).args(&self.argv[1..]).timeout(TIME_MAX);
        let variables = self.env.iter().map(|it| (it.0.into(), it.1.into()));
        run.env = variables.chain([(OsString::from(&self.variable), half.into())]).collect();
        let done = run_confined(&policy, run, &Cancel::default()).map_err(io::Error::other)?;
        if !done.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = pitcrew_model::text::cut(said.trim(), 300);
            return Err(io::Error::other(format!("it ended with {:?}: {said}", done.code)));
        }
        match fs::read_dir(half)?.next() {
            Some(_) => Ok(()),
            None => Err(io::Error::other("it ended well and unpacked nothing")),
        }
    }
}

/// Removes what nobody uses any more, and what was cut off.
fn sweep(folder: &Path, but: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let age = entry.metadata().and_then(|it| it.modified()).ok();
        let age = age.and_then(|it| it.elapsed().ok()).unwrap_or_default();
        let age_max = if name.starts_with(HALF) { HALF_MAX } else { UNUSED_MAX };
        if name != but && age > age_max {
            fs::remove_dir_all(entry.path()).ok();
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

    /// A program that unpacks itself where it is told to, and notes where it is asked to.
    const PROGRAM: &str =
        "#!/bin/sh\n[ \"$ONLY\" = 1 ] || exit 3\nmkdir \"$TO/pkg\" && echo $$ > \"$TO/pkg/part\"\n";

    impl Scene {
        fn new(program: &str) -> Self {
            let folder = TempDir::new().unwrap();
            let mut backend = BackendSettings::of_command(vec!["vendor".into()]);
            backend.unpack_to = Some("TO".into());
            backend.unpack_env.insert("ONLY".into(), "1".into());
            let bin = folder.path().join("bin");
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let user = [("PATH".to_owned(), path)].into();
            let log = Log::open(&folder.path().join("logs"), Redactor::new([], &[])).unwrap();
            let place = folder.path().join("state/programs");
            let unpacked = Unpacked::new(place, Policy::unconfined(), Arc::new(log));
            let scene = Self { folder, backend, user, unpacked };
            scene.install(program);
            scene
        }

        /// As installers do, which replace a file. By another process: what we have open for writing,
        /// whoever is being started by another test has open too, and then it cannot be executed.
        fn install(&self, program: &str) {
            let bin = self.folder.path().join("bin");
            fs::create_dir_all(&bin).unwrap();
            let install = "cat > new && chmod 700 new && mv new vendor";
            let run = Run::new("sh", &bin).args(["-c", install]).stdin(program);
            assert!(run_trusted(run, &Cancel::default()).unwrap().success());
        }

        /// Where it is, and what is in it.
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
        assert_ne!(first, second, "another file, although all of it is the same");
        assert_eq!(scene.places(), 2, "nothing half is left");
        fs::remove_dir_all(&second.0).unwrap();
        assert_eq!(scene.unpack().await.map(|it| it.0), Some(second.0), "somebody cleaned up");
    }

    #[tokio::test]
    async fn who_cannot_be_unpacked_is_left_alone() {
        for program in
            ["#!/bin/sh\nexit 3\n", "#!/bin/sh\n", "#!/bin/sh\ntouch \"$TO/a\"; exit 1\n"]
        {
            let scene = Scene::new(program);
            assert_eq!(scene.unpack().await, None, "{program}");
            assert_eq!(scene.places(), 0, "{program}");
            let logs = fs::read_dir(scene.folder.path().join("logs")).unwrap();
            let said: String =
                logs.map(|it| fs::read_to_string(it.unwrap().path()).unwrap()).collect();
            assert!(said.contains("what vendor unpacks is not shared"), "{said}");
            assert_eq!(scene.unpack().await, None, "and is not tried again");
        }
        let mut named = Scene::new(PROGRAM);
        named.backend.env.insert("TO".into(), "/mine".into());
        assert_eq!(named.unpack().await, None, "the user has said where");
        let mut other = Scene::new(PROGRAM);
        other.backend.unpack_env.values_mut().for_each(String::clear);
        assert_eq!(other.unpack().await, None, "nobody knows how it is told to");
    }

    #[tokio::test]
    async fn what_nobody_uses_any_more_is_removed() {
        let scene = Scene::new(PROGRAM);
        let (old, _) = scene.unpack().await.expect("it is unpacked");
        let half = scene.unpacked.folder.join(".vendor-1");
        fs::create_dir(&half).unwrap();
        for (place, age) in [(&old, UNUSED_MAX), (&half, HALF_MAX)] {
            let then = SystemTime::now() - age - Duration::from_secs(1);
            File::open(place).unwrap().set_modified(then).unwrap();
        }
        scene.unpack().await.expect("it is used again");
        scene.install(PROGRAM);
        scene.unpack().await.expect("it is unpacked");
        assert!(old.is_dir() && !half.exists(), "the old one was just used");
        let then = SystemTime::now() - UNUSED_MAX - Duration::from_secs(1);
        File::open(&old).unwrap().set_modified(then).unwrap();
        scene.install(PROGRAM);
        scene.unpack().await.expect("it is unpacked");
        assert!(!old.exists());
    }
}
