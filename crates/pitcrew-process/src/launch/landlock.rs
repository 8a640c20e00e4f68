//! Landlock: restricts which files, TCP ports and processes can be reached. If the kernel is too
//! old for a rule, it fails instead of skipping the rule.

use super::{
    places::{Place, Right, leased, places},
    spec::{Calls, ConfineSpec, Files, Unix, Zone},
};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, PathFd, RestrictSelf, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, make_bitflags,
};
use std::io;

/// The version that tier T2 needs: the first one that restricts signals.
const ALONE: ABI = ABI::V6;

/// The same as a number.
pub const LANDLOCK_ABI_MIN: u32 = ALONE as u32;

/// The first version with rules for sockets with a path.
const SOCKETS: ABI = ABI::V9;

#[derive(Debug, thiserror::Error)]
pub(super) enum LandlockError {
    #[error("{0}")]
    Ruleset(#[from] RulesetError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the kernel has version {found} of it, and version {needed} is needed")]
    TooOld { found: i32, needed: i32 },
    #[error("the kernel took only a part of it")]
    Partly,
}

/// The Landlock version of the kernel. 0 if it is missing or disabled.
pub fn landlock_abi() -> u32 {
    u32::try_from(abi() as i32).unwrap_or(0)
}

fn abi() -> ABI {
    // An empty request: it only reports what the kernel supports.
    let status = RestrictSelf::default().no_new_privs(false).apply();
    status.map_or(ABI::Unsupported, |it| match it.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => ABI::Unsupported,
    })
}

/// Whether the kernel can allow connections to some sockets with a path and refuse others.
pub(super) fn distinguishes_sockets() -> bool {
    abi() >= SOCKETS
}

/// `more` are ports that may be connected to in addition to those of the specification.
pub(super) fn apply(spec: &ConfineSpec, more: &[u16]) -> Result<(), LandlockError> {
    let found = abi();
    let rules = match (&spec.files, &spec.lease) {
        (None, None) => match apart(spec.calls, found)? {
            Some(rules) => rules,
            None => return Ok(()),
        },
        _ if found < ALONE => {
            return Err(LandlockError::TooOld { found: found as i32, needed: ALONE as i32 });
        }
        (Some(files), _) => alone(spec, files, more, found)?,
        (None, Some(lease)) => hold(lease)?,
    };
    match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => Err(LandlockError::Partly),
    }
}

/// Whether a program in a box is prevented from tracing processes other than its own.
pub(super) fn prevents_tracing(calls: Calls) -> bool {
    can_prevent_tracing(calls, abi())
}

fn can_prevent_tracing(calls: Calls, found: ABI) -> bool {
    match calls {
        Calls::Unboxed => false,
        Calls::Boxed => found > ABI::Unsupported,
        // Rules for files would prevent it from mounting anything.
        Calls::Nesting => found >= ALONE,
    }
}

/// In a box: no process can trace or signal a process outside its Landlock domain, such as the
/// first process of the box. The other rules of the domain have no effect.
fn apart(calls: Calls, found: ABI) -> Result<Option<RulesetCreated>, LandlockError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = match (can_prevent_tracing(calls, found), found >= ALONE) {
        (false, _) => return Ok(None),
        (true, true) => ruleset.scope(Scope::from_all(ALONE))?,
        (true, false) => ruleset.handle_access(make_bitflags!(AccessFs::{MakeChar | MakeBlock}))?,
    };
    Ok(Some(ruleset.create()?))
}

/// In a box, reading is already restricted: only write access is restricted here.
fn hold(lease: &Zone) -> Result<RulesetCreated, LandlockError> {
    let handled = AccessFs::from_write(ALONE) & !AccessFs::IoctlDev;
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let mut rules = ruleset.handle_access(handled)?.scope(Scope::from_all(ALONE))?.create()?;
    for place in leased(lease)? {
        rules = add(rules, place, handled)?;
    }
    Ok(rules)
}

/// Tier T2: no other layer confines the program's file access.
fn alone(
    spec: &ConfineSpec,
    files: &Files,
    more: &[u16],
    found: ABI,
) -> Result<RulesetCreated, LandlockError> {
    // Access that is refused unless a rule allows it.
    let handled = AccessFs::from_all(if found >= SOCKETS { SOCKETS } else { ALONE });
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)?
        .scope(Scope::from_all(ALONE))?;
    if spec.ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::from_all(ALONE))?;
    }
    let ports = spec.ports.iter().flat_map(|it| it.iter().chain(more));
    let mut rules = ruleset.create()?;
    for place in places(files)? {
        rules = add(rules, place, handled)?;
    }
    for port in ports {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    if let (Unix::Only(sockets), true) = (&spec.unix, handled.contains(AccessFs::ResolveUnix)) {
        for socket in sockets.iter().filter_map(|it| PathFd::new(it).ok()) {
            rules = rules.add_rule(PathBeneath::new(socket, AccessFs::ResolveUnix))?;
        }
    }
    Ok(rules)
}

fn add(
    rules: RulesetCreated,
    place: Place,
    handled: BitFlags<AccessFs>,
) -> Result<RulesetCreated, LandlockError> {
    let read = AccessFs::from_read(ALONE);
    // Programs never create devices, and no writable path is a device.
    let devices = make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
    let access = match place.right {
        Right::Read => read,
        Right::Write => read | (AccessFs::from_write(SOCKETS) & !devices),
        Right::Change => AccessFs::WriteFile | AccessFs::Truncate,
        Right::Device => {
            make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev})
        }
    };
    let fitting = if place.is_folder()? { access } else { access & AccessFs::from_file(SOCKETS) };
    let fitting = fitting & handled;
    if fitting.is_empty() {
        return Ok(rules);
    }
    Ok(rules.add_rule(PathBeneath::new(place.file, fitting))?)
}
