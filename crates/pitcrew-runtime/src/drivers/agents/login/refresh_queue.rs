//! Serializes the start of agents that have to refresh a credential.

use super::files;
use pitcrew_config::{Credential, LoginFormat};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// A credential that expires within this time is refreshed by the next agent that uses it.
pub const SOON_MS: u64 = 10 * 60 * 1_000;
/// How long the others wait for the agent that refreshes.
const REFRESH_MS_MAX: u64 = 60 * 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A process that holds a lock longer is stopped, not busy.
const LOCK_MAX: Duration = Duration::from_secs(10);

/// The state of one backend's logins, shared by all orchestrators of this user.
pub struct Shared {
    folder: PathBuf,
    backend: String,
}

/// The lock of a backend's logins. Released when dropped, and if the process is killed.
pub struct Lock(#[expect(dead_code, reason = "it is held, not used")] File);

impl Shared {
    pub fn new(folder: &Path, backend: &str) -> Self {
        Self { folder: folder.to_owned(), backend: backend.to_owned() }
    }

    /// Waits for the lock; fails if it is not released in time.
    pub async fn lock(&self) -> io::Result<Lock> {
        files::private_folder(&self.folder)?;
        let path = self.folder.join(format!("{}.lock", self.backend));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path)?;
        let until = Instant::now() + LOCK_MAX;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOOK_EVERY).await,
                Err(TryLockError::WouldBlock) => {
                    let reason = format!(
                        "another process has held the lock {} for too long",
                        path.display()
                    );
                    return Err(io::Error::other(reason));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Waits until an agent with this home may start, and returns with the lock.
    ///
    /// A credential that is valid for a while delays no agent. If it has expired or soon will, one
    /// agent starts at a time: the next one waits until it has refreshed the credential, timed out
    /// or ended.
    pub async fn acquire(
        &self,
        user: &[PathBuf],
        format: &LoginFormat,
        home: &Path,
    ) -> io::Result<Lock> {
        loop {
            let lock = self.lock().await?;
            let now_ms = crate::clock::wall_ms();
            let Some(digest) = expiring(user, format, now_ms) else { return Ok(lock) };
            let is_others = |it: &Refresher| {
                it.digest == digest
                    && now_ms.saturating_sub(it.since_ms) < REFRESH_MS_MAX
                    && it.home != home
                    && it.home.exists()
            };
            if !self.refresher().is_some_and(|it| is_others(&it)) {
                let text = format!("{digest}\n{now_ms}\n{}\n", home.display());
                files::write_private(&self.refresher_path(), text.as_bytes())?;
                return Ok(lock);
            }
            drop(lock);
            sleep(LOOK_EVERY).await;
        }
    }

    fn refresher_path(&self) -> PathBuf {
        self.folder.join(format!("{}.refresher", self.backend))
    }

    fn refresher(&self) -> Option<Refresher> {
        let text = fs::read_to_string(self.refresher_path()).ok()?;
        let mut lines = text.lines();
        let (digest, since, home) = (lines.next()?, lines.next()?, lines.next()?);
        Some(Refresher { digest: digest.into(), since_ms: since.parse().ok()?, home: home.into() })
    }
}

/// The last agent that started with an expiring credential.
struct Refresher {
    digest: String,
    since_ms: u64,
    home: PathBuf,
}

/// The digest of a credential that has expired or soon will, and that an agent can renew.
fn expiring(user: &[PathBuf], format: &LoginFormat, now_ms: u64) -> Option<String> {
    user.iter().find_map(|path| {
        let credential = read(path, format)?;
        let is_soon = credential.expires_at_ms.is_some_and(|it| it < now_ms + SOON_MS);
        (is_soon && credential.account.is_some()).then_some(credential.digest)
    })
}

/// The file with a credential that has expired and that no agent can renew.
pub fn expired<'a>(user: &'a [PathBuf], format: &LoginFormat, now_ms: u64) -> Option<&'a Path> {
    let is_over = |it: &&PathBuf| {
        let credential = read(it, format).filter(|it| it.account.is_none());
        credential.and_then(|it| it.expires_at_ms).is_some_and(|it| it <= now_ms)
    };
    user.iter().find(is_over).map(PathBuf::as_path)
}

fn read(path: &Path, format: &LoginFormat) -> Option<Credential> {
    Credential::read(&files::UserFile::open(path)?.content.bytes, format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;
    use tokio::time::timeout;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// A user whose credential expires after this time.
    fn user(lasts_ms: u64) -> (TempDir, Shared, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::new(&dir.path().join("logins"), "fake");
        let login = dir.path().join("login.json");
        log_in(&login, 1, lasts_ms);
        (dir, shared, vec![login])
    }

    fn log_in(login: &Path, number: u64, lasts_ms: u64) {
        let expires = crate::clock::wall_ms() + lasts_ms;
        fs::write(login, format!(r#"{{"token":"t{number}","expires":{expires}}}"#)).unwrap();
    }

    fn format() -> LoginFormat {
        LoginFormat { expires: vec!["expires".into()], account: Vec::new() }
    }

    /// A home that was created while the lock was held.
    async fn begun(dir: &TempDir, shared: &Shared, login: &[PathBuf], name: &str) -> PathBuf {
        let home = dir.path().join(name);
        let format = format();
        let acquiring = shared.acquire(login, &format, &home);
        let lock = timeout(PATIENCE, acquiring).await.unwrap().unwrap();
        fs::create_dir(&home).unwrap();
        drop(lock);
        home
    }

    async fn waits(dir: &TempDir, shared: &Shared, login: &[PathBuf]) -> bool {
        let home = dir.path().join("waits");
        let format = format();
        let acquiring = shared.acquire(login, &format, &home);
        timeout(LOOK_EVERY * 4, acquiring).await.is_err()
    }

    #[tokio::test]
    async fn a_valid_credential_delays_no_agent() {
        let (dir, shared, login) = user(2 * SOON_MS);
        for name in ["one", "two", "three"] {
            begun(&dir, &shared, &login, name).await;
        }
    }

    #[tokio::test]
    async fn the_others_wait_until_one_has_refreshed() {
        let (dir, shared, login) = user(0);
        begun(&dir, &shared, &login, "one").await;
        assert!(waits(&dir, &shared, &login).await);
        log_in(&login[0], 2, 2 * SOON_MS);
        begun(&dir, &shared, &login, "two").await;
    }

    #[tokio::test]
    async fn the_others_wait_until_one_has_ended() {
        let (dir, shared, login) = user(SOON_MS / 2);
        let home = begun(&dir, &shared, &login, "one").await;
        assert!(waits(&dir, &shared, &login).await);
        fs::remove_dir(home).unwrap();
        begun(&dir, &shared, &login, "two").await;
        assert!(waits(&dir, &shared, &login).await, "the second one refreshes now");
    }

    #[test]
    fn a_credential_that_no_agent_can_renew_delays_no_agent() {
        let dir = tempfile::tempdir().unwrap();
        let login = [dir.path().join("login.json")];
        let put = |expires: u64, more: &str| {
            let text = format!(r#"{{"token":"t","expires":{expires}{more}}}"#);
            fs::write(&login[0], text).unwrap();
        };
        let now_ms = 1_800_000_000_000;
        put(now_ms, r#","refresh":"r""#);
        assert_eq!(expiring(&login, &format(), now_ms), None);
        assert_eq!(expired(&login, &format(), now_ms), Some(login[0].as_path()));
        put(now_ms + 1, r#","refresh":"r""#);
        assert_eq!(expired(&login, &format(), now_ms), None);
        let named = LoginFormat { account: vec!["account".into()], ..format() };
        put(now_ms, r#","refresh":"r","account":"ada""#);
        assert!(expiring(&login, &named, now_ms).is_some());
        assert_eq!(expired(&login, &named, now_ms), None);
    }

    #[tokio::test]
    async fn waiting_has_a_deadline() {
        let (dir, shared, login) = user(0);
        begun(&dir, &shared, &login, "one").await;
        let long_ago = crate::clock::wall_ms() - REFRESH_MS_MAX;
        let text = fs::read_to_string(shared.refresher_path()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        fs::write(shared.refresher_path(), format!("{}\n{long_ago}\n{}\n", lines[0], lines[2]))
            .unwrap();
        begun(&dir, &shared, &login, "two").await;
    }

    #[tokio::test]
    async fn a_lock_has_one_holder() {
        let (_dir, shared, _) = user(0);
        let lock = shared.lock().await.unwrap();
        assert!(timeout(LOOK_EVERY * 4, shared.lock()).await.is_err());
        drop(lock);
        timeout(PATIENCE, shared.lock()).await.unwrap().unwrap();
    }
}
