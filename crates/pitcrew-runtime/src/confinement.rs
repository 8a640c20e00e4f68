//! The sandbox policies: one for this machine, user and workspace, and additions for each agent.
//!
//! Detects what is available. The kernel decides whether that is sufficient.

mod zone;

pub use zone::foreign;

use crate::{drivers::tool_folders, secrets::has_secrets};
use pitcrew_config::{SandboxSettings, WorkspaceDirs};
use pitcrew_model::{Confined, RepoPath, Sandbox, Tier, Zone};
use pitcrew_process::{
    LANDLOCK_ABI_MIN, Limits, Net, Obstacle, Policy, find_box, is_root, landlock_abi,
    program_roots, roots, try_without_box,
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The user's git rules, readable in every sandbox. The git settings are a copy without secrets.
const GIT_RULES: &[&str] = &[".config/git/ignore", ".config/git/attributes"];

const MIB: u64 = 1_024 * 1_024;

/// The sandbox that is available.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// The strongest available tier that the user's settings allow.
    pub tier: Tier,
    /// Why it is not T3.
    pub no_box: Option<Obstacle>,
    /// Why it is not T2 either.
    pub no_landlock: Option<Obstacle>,
    bubblewrap: Option<PathBuf>,
}

impl Confinement {
    /// Tries the tiers that the settings allow, strongest first. `launcher` is our own executable.
    pub fn by_trying(
        settings: &SandboxSettings,
        user: &BTreeMap<String, String>,
        launcher: &Path,
    ) -> Self {
        let wanted = settings.tier.unwrap_or(Tier::T3);
        let unwanted = || Obstacle {
            reason: format!("your settings request {wanted}"),
            remedy: "remove `tier` from `[sandbox]` and unset PITCREW_SANDBOX".to_owned(),
        };
        let found = if wanted < Tier::T3 { Err(unwanted()) } else { find_box(user, launcher) };
        let no_box = match found {
            Ok(program) => {
                let bubblewrap = Some(program);
                return Self { tier: Tier::T3, no_box: None, no_landlock: None, bubblewrap };
            }
            Err(obstacle) => Some(obstacle),
        };
        let held =
            if wanted < Tier::T2 { Err(unwanted()) } else { try_without_box(user, launcher) };
        let (tier, no_landlock) = match held {
            Ok(()) => (Tier::T2, None),
            Err(obstacle) => (Tier::T1, Some(obstacle)),
        };
        Self { tier, no_box, no_landlock, bubblewrap: None }
    }

    /// Converts to the kernel's type.
    pub fn for_kernel(&self, settings: &SandboxSettings) -> Sandbox {
        let wants_t1 = [settings.tier, settings.min_tier].contains(&Some(Tier::T1));
        // A repository may raise `min_tier` to T2, but that is not the user's consent.
        let wants_t2 = settings.tier == Some(Tier::T2);
        // The first reason is the one to fix; the other reasons are shorter.
        let obstacle = self.no_box.as_ref().map(|it| format!("{}: {}", it.reason, it.remedy));
        let others = self.no_landlock.as_ref().filter(|_| !wants_t1).map(|it| &it.reason);
        let obstacle = [obstacle.as_ref(), others].into_iter().flatten().cloned();
        let obstacle = obstacle.collect::<Vec<_>>().join("; ");
        Sandbox {
            available: self.tier,
            min_tier: settings.min_tier,
            obstacle: Some(obstacle).filter(|it| !it.is_empty()),
            consent: wants_t1 || wants_t2 && self.tier == Tier::T2,
            as_root: is_root(),
        }
    }
}

/// The policy of every program, before it gets a checkout.
pub fn base(
    found: &Confinement,
    settings: &SandboxSettings,
    user: &BTreeMap<String, String>,
    dirs: &WorkspaceDirs,
    program: &Path,
) -> Policy {
    let mut policy = Policy { tier: found.tier, ..Policy::unconfined() };
    if found.tier == Tier::T1 {
        return policy;
    }
    // Programs that need one get their own egress.
    policy.net = Net::None;
    let system = roots(user);
    policy.read = system.read;
    policy.read.extend(tool_folders(user));
    let home = user.get("HOME").map(PathBuf::from);
    policy.read.extend(home.iter().flat_map(|home| GIT_RULES.iter().map(|it| home.join(it))));
    policy.read.push(program.to_owned());
    policy.read.extend(settings.read.iter().cloned());
    policy.write.clone_from(&settings.write);
    policy.deny = system.deny;
    policy.deny.extend(tool_secrets(user));
    // The journals, vaults and tokens of all workspaces.
    policy.deny.extend([dirs.of_user().to_owned(), dirs.runtime.clone()]);
    policy.launcher = Some(program.to_owned());
    if let Some(bubblewrap) = &found.bubblewrap {
        policy.bubblewrap.clone_from(bubblewrap);
    }
    let bytes = |it: Option<u32>| it.map(|it| u64::from(it) * MIB);
    policy.limits = Limits {
        memory_bytes: bytes(settings.memory_mb),
        processes: settings.processes.map(u64::from),
        file_bytes: bytes(settings.file_mb),
        open_files: settings.open_files.map(u64::from),
    };
    policy.without_repeats()
}

/// The credential files in the folders of the user's tools.
fn tool_secrets(user: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in tool_folders(user) {
        found.extend(["credentials", "credentials.toml"].map(|it| folder.join(it)));
        let settings = ["config", "config.toml", "gradle.properties"].map(|it| folder.join(it));
        found.extend(settings.into_iter().filter(|it| keeps_secrets(it)));
    }
    found
}

fn keeps_secrets(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|it| has_secrets(&it))
}

/// Records a policy in the attempt's folder, and returns its summary for the journal.
pub fn record(policy: &Policy, attempt: &Path) -> io::Result<Confined> {
    let text = serde_json::to_vec_pretty(&policy.shown())?;
    DirBuilder::new().recursive(true).mode(0o700).create(attempt)?;
    fs::write(attempt.join("policy.json"), &text)?;
    let digest = Sha256::digest(&text);
    let policy_digest = digest.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().concat();
    Ok(Confined { tier: policy.tier, policy: policy_digest })
}

/// The additional access of one agent.
pub struct AgentAccess<'a> {
    pub checkout: &'a Path,
    /// Its command line: programs and scripts that are named by path are readable.
    pub argv: &'a [String],
    /// Its private home, if it has one.
    pub home: PathBuf,
    /// Other readable paths, such as the socket for our tools and its settings.
    pub read: Vec<PathBuf>,
    /// The part of the checkout that it may write.
    pub hold: WriteScope<'a>,
    /// The user's repository.
    pub root: &'a Path,
    /// Paths of the checkout that its sandbox hides.
    pub unseen: &'a [String],
}

/// The part of its checkout that an agent may write.
pub enum WriteScope<'a> {
    /// Everywhere: it has no zone.
    Nothing,
    /// Everywhere: it brings its own sandbox.
    Itself,
    /// In its zone; it has the checkout to itself.
    Zone(&'a Zone),
    /// In these files and in build outputs; it shares the checkout with others.
    Lease(&'a [RepoPath]),
}

/// The policy of one agent.
pub fn of_agent(base: &Policy, own: AgentAccess<'_>, user: &BTreeMap<String, String>) -> Policy {
    let mut policy = base.clone().writing(own.checkout);
    if policy.tier == Tier::T1 {
        return policy;
    }
    let named = own.argv.iter().map(Path::new).filter(|it| it.is_absolute() && it.is_file());
    policy.read.extend(named.flat_map(|it| program_roots(it, user)));
    policy.read.extend(own.read);
    policy.home = Some(own.home);
    match own.hold {
        WriteScope::Zone(zone) => policy.inner = zone::writable(own.checkout, zone, base.tier),
        WriteScope::Lease(files) if landlock_abi() >= LANDLOCK_ABI_MIN => {
            policy.inner = Some(zone::leased(own.checkout, files, own.root));
            policy.guest = true;
        }
        WriteScope::Itself => policy.nests = true,
        WriteScope::Lease(_) | WriteScope::Nothing => {}
    }
    if policy.tier == Tier::T3 {
        policy.deny.extend(own.unseen.iter().map(|it| own.checkout.join(it)));
    }
    policy
}
