//! Tests which tiers work on this machine, and reports why the others do not.

use super::roots;
use crate::{
    CONFINE_PREFIX, Cancel, Finished, LANDLOCK_ABI_MIN, Net, Policy, Run, Tier, find_program,
    landlock_abi, run_confined,
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Why a tier is not available, and how to fix that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub reason: String,
    pub remedy: String,
}

impl Obstacle {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into() }
    }
}

/// Finds the program that creates boxes, after it has created one with `launcher`, our own
/// executable.
pub fn find_box(
    environment: &BTreeMap<String, String>,
    launcher: &Path,
) -> Result<PathBuf, Obstacle> {
    let Some(found) = find_program("bwrap", environment) else {
        let remedy = "install bubblewrap, for example with `apt install bubblewrap`";
        return Err(Obstacle::new("bubblewrap is not installed", remedy));
    };
    let roots = roots(environment);
    let policy = Policy {
        tier: Tier::T3,
        read: roots.read,
        deny: roots.deny,
        net: Net::None,
        bubblewrap: found.path.clone(),
        launcher: Some(launcher.to_owned()),
        ..Policy::unconfined()
    };
    let run = Run::new("true", "/").timeout(PATIENCE);
    match run_confined(&policy, run, &Cancel::default()) {
        Ok(finished) if finished.success() => Ok(found.path),
        Ok(finished) => Err(obstacle(&finished, |path| fs::read_to_string(path).ok())),
        Err(error) => {
            Err(Obstacle::new(format!("bubblewrap does not run: {}", error.kind), "reinstall it"))
        }
    }
}

/// Tests confinement without a box, using `launcher`, our own executable.
pub fn try_without_box(
    environment: &BTreeMap<String, String>,
    launcher: &Path,
) -> Result<(), Obstacle> {
    let found = landlock_abi();
    if found < LANDLOCK_ABI_MIN {
        let reason = match found {
            0 => "the kernel has no Landlock".to_owned(),
            _ => format!("the kernel has Landlock {found}, and {LANDLOCK_ABI_MIN} is needed"),
        };
        let remedy = "run Linux 6.12 or newer, with `landlock` among its `lsm=`";
        return Err(Obstacle::new(reason, remedy));
    }
    let roots = roots(environment);
    let policy = Policy {
        tier: Tier::T2,
        read: roots.read,
        deny: roots.deny,
        net: Net::None,
        launcher: Some(launcher.to_owned()),
        ..Policy::unconfined()
    };
    let run = Run::new("true", "/").timeout(PATIENCE);
    match run_confined(&policy, run, &Cancel::default()) {
        Ok(finished) if finished.success() => Ok(()),
        Ok(finished) => {
            let said = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
            Err(Obstacle::new(
                format!("Landlock and seccomp cannot be applied: `{said}`"),
                "in a container: let it use them, with docker `--security-opt seccomp=unconfined`",
            ))
        }
        Err(error) => Err(Obstacle::new(
            format!("our own executable does not run: {}", error.kind),
            "reinstall pitcrew",
        )),
    }
}

/// Explains why bubblewrap failed. `read` returns the text of a system file.
fn obstacle(finished: &Finished, read: impl Fn(&str) -> Option<String>) -> Obstacle {
    let is = |path: &str, value: &str| read(path).is_some_and(|it| it.trim() == value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return Obstacle::new(
            "the system allows no user namespaces",
            "set `sysctl user.max_user_namespaces=10000` as root",
        );
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return Obstacle::new(
            "the system allows user namespaces to root only",
            "set `sysctl kernel.unprivileged_userns_clone=1` as root",
        );
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Obstacle::new(
            "AppArmor keeps bubblewrap from making namespaces",
            "give bwrap an AppArmor profile with `userns`, or set \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
        );
    }
    let said = String::from_utf8_lossy(&finished.stderr);
    let said = said.lines().last().unwrap_or("nothing").trim();
    if let Some(reason) = said.strip_prefix(CONFINE_PREFIX) {
        return Obstacle::new(reason, "run pitcrew as an ordinary user, not as root");
    }
    let remedy = if said.contains("add-seccomp-fd") {
        "install bubblewrap 0.6 or newer"
    } else if said.contains("mount proc") {
        "in a container: let it mount a /proc of its own, with docker `--security-opt systempaths=unconfined`"
    } else {
        "in a container: let it make namespaces, with docker `--security-opt seccomp=unconfined`"
    };
    Obstacle::new(format!("bubblewrap cannot make a box: it says `{said}`"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> Finished {
        Finished { code: Some(1), stderr: stderr.into(), ..Finished::default() }
    }

    #[test]
    fn missing_program_is_reported_with_install_instructions() {
        let environment = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
        let obstacle = find_box(&environment, Path::new("/none")).map_err(|it| it.remedy);
        assert!(obstacle.is_err_and(|it| it.contains("apt install bubblewrap")));
    }

    #[test]
    fn obstacles_are_reported_with_a_remedy() {
        let restricted =
            obstacle(&failed("bwrap: setting up uid map: Permission denied\n"), |it| {
                it.contains("apparmor").then(|| "1\n".to_owned())
            });
        assert!(restricted.reason.contains("AppArmor") && restricted.remedy.contains("sysctl"));
        let container =
            obstacle(&failed("bwrap: Can't mount proc on /newroot/proc: x\n"), |_| None);
        assert!(container.reason.contains("Can't mount proc"), "{}", container.reason);
        assert!(container.remedy.contains("systempaths"), "{}", container.remedy);
        let forbidden =
            |file: &'static str| move |it: &str| it.ends_with(file).then(|| "0\n".to_owned());
        for file in ["max_user_namespaces", "unprivileged_userns_clone"] {
            assert!(obstacle(&failed(""), forbidden(file)).remedy.contains(file));
        }
    }
}
