//! seccomp: calls of the kernel that a program for an agent never needs, refused by number and
//! argument. Paths cannot be seen here.
//!
//! A refused call fails with "operation not permitted". Two are said not to exist, so that programs
//! fall back on what can be judged: `clone3`, whose arguments cannot be seen, and all calls with
//! the numbers of the x32 ABI, which mean the same as others here. Programs of another
//! architecture are ended.

use super::{
    landlock::{keeps_apart, tells_sockets_apart},
    spec::{Calls, ConfineSpec, Unix},
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

/// What is next to the kernel itself, or reaches around the rules for files.
const NEVER: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    // Tells what is opened anywhere below a folder that cannot be read.
    libc::SYS_fanotify_init,
];

/// What makes boxes.
const NAME_SPACES: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_setns,
];

/// `open_tree_attr`, with the same number everywhere. It came later than the list of numbers.
const OPEN_TREE_ATTR: i64 = 467;

/// `fchmodat2`, likewise.
const FCHMODAT2: i64 = 452;

/// What looks into other processes.
const OTHERS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// `PRIO_USER`
const ALL_OF_USER: u64 = 2;

/// Flags of `clone` and `unshare` that make a name space.
const NEW: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Types words into a terminal, or copies from it.
const TERMINAL: &[u64] = &[0x5412, 0x541c];

/// `MSG_FASTOPEN`: data with which a connection is made that nobody was asked about.
const FAST_OPEN: u64 = 0x2000_0000;

/// The bit that numbers of the x32 ABI have.
const X32: u32 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Which of the rules hold for a program.
#[derive(Clone, Copy)]
struct Judged {
    calls: Calls,
    unix: bool,
    /// TCP only, to the ports that Landlock lets through.
    only_tcp: bool,
    /// It may trace its own children: something else keeps it from all others.
    traces: bool,
}

/// What a program takes from itself where there is no box.
pub(super) fn apply(spec: &ConfineSpec) -> Result<(), seccompiler::Error> {
    let judged = Judged {
        calls: spec.calls,
        unix: may_use_unix(spec),
        only_tcp: spec.ports.is_some(),
        traces: false,
    };
    for filter in filters(judged)? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

/// What bubblewrap puts on every process of a box, as it reads it.
pub(crate) fn filters_of_box(calls: Calls) -> Result<Vec<Vec<u8>>, seccompiler::Error> {
    let traces = keeps_apart(calls);
    let judged = Judged { calls, unix: true, only_tcp: false, traces };
    Ok(filters(judged)?.iter().map(encoded).collect())
}

fn filters(judged: Judged) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let refused = u32::try_from(libc::EPERM).unwrap_or(1);
    let absent = u32::try_from(libc::ENOSYS).unwrap_or(1);
    let mut filters = vec![without_x32(absent)];
    if judged.calls != Calls::Nesting {
        let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        filters.push(compiled(clone3, absent)?);
    }
    filters.push(compiled(rules(judged)?, refused)?);
    Ok(filters)
}

/// The instructions as they are in the memory of the kernel.
fn encoded(filter: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::new();
    for instruction in filter {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    bytes
}

fn compiled(rules: Rules, errno: u32) -> Result<BpfProgram, seccompiler::Error> {
    let architecture = std::env::consts::ARCH.try_into()?;
    let action = SeccompAction::Errno(errno);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?;
    Ok(filter.try_into()?)
}

/// Four instructions: load the number, compare it, refuse or allow.
fn without_x32(errno: u32) -> BpfProgram {
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32),
        instruction(0x06, 0, 0, u32::from(SeccompAction::Errno(errno))),
        instruction(0x06, 0, 0, u32::from(SeccompAction::Allow)),
    ]
}

fn rules(judged: Judged) -> Result<Rules, seccompiler::Error> {
    let mut never = NEVER.to_vec();
    let mut rules = Rules::new();
    #[cfg(target_arch = "x86_64")]
    never.extend([libc::SYS_iopl, libc::SYS_ioperm]);
    if judged.calls != Calls::Nesting {
        never.extend(NAME_SPACES);
        let flags = NEW.iter().map(|it| u64::from(it.unsigned_abs()));
        let made = flags.map(|it| rule(&[bits(0, it, it)?])).collect::<Result<Vec<_>, _>>()?;
        rules.insert(libc::SYS_clone, made.clone());
        rules.insert(libc::SYS_unshare, made);
    }
    if !judged.traces {
        never.extend(OTHERS);
    }
    if judged.calls == Calls::Unboxed {
        // Limits end a process as a signal does. One's own are named by 0.
        rules.insert(libc::SYS_prlimit64, vec![rule(&[is_not(0, 0)?])?]);
        rules.insert(libc::SYS_setpriority, vec![rule(&[is(0, ALL_OF_USER)?])?]);
    }
    rules.extend(never.into_iter().map(|it| (it, Vec::new())));
    let words = TERMINAL.iter().map(|it| rule(&[is(1, *it)?]));
    rules.insert(libc::SYS_ioctl, words.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, sockets(judged)?);
    rules.extend(setuid()?);
    if judged.only_tcp {
        for (call, index) in
            [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
        {
            rules.insert(call, vec![rule(&[bits(index, FAST_OPEN, FAST_OPEN)?])?]);
        }
    }
    Ok(rules)
}

/// A program that runs as its owner is never made, as far as a mode is an argument.
fn setuid() -> Result<Rules, seccompiler::Error> {
    let bit = u64::from(libc::S_ISUID);
    let created = u64::from(libc::O_CREAT.unsigned_abs());
    let mut rules = Rules::new();
    for (call, mode) in
        [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)]
    {
        rules.insert(call, vec![rule(&[bits(mode, bit, bit)?])?]);
    }
    let opened = rule(&[bits(2, created, created)?, bits(3, bit, bit)?])?;
    rules.insert(libc::SYS_openat, vec![opened]);
    #[cfg(target_arch = "x86_64")]
    {
        for call in [libc::SYS_chmod, libc::SYS_creat, libc::SYS_mknod] {
            rules.insert(call, vec![rule(&[bits(1, bit, bit)?])?]);
        }
        let opened = rule(&[bits(1, created, created)?, bits(2, bit, bit)?])?;
        rules.insert(libc::SYS_open, vec![opened]);
    }
    Ok(rules)
}

/// Which sockets are not made. The kinds that are not named here are not kept in by name spaces, or
/// have no business in an agent's work.
fn sockets(judged: Judged) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let family = |it: i32| u64::from(it.unsigned_abs());
    let (unix, netlink) = (family(libc::AF_UNIX), family(libc::AF_NETLINK));
    let internet = [family(libc::AF_INET), family(libc::AF_INET6)];
    let mut known = vec![netlink, internet[0], internet[1]];
    if judged.unix {
        known.push(unix);
    }
    let unknown = known.iter().map(|it| is_not(0, *it)).collect::<Result<Vec<_>, _>>()?;
    // Of the kernel's own channels the one that lists network interfaces.
    let mut rules = vec![rule(&unknown)?, rule(&[is(0, netlink)?, is_not(2, 0)?])?];
    if !judged.only_tcp {
        return Ok(rules);
    }
    for family in internet {
        // The kind is in the low four bits, and streams are 1: each other bit means another kind.
        rules.push(rule(&[is(0, family)?, bits(1, 1, 0)?])?);
        for bit in [2, 4, 8] {
            rules.push(rule(&[is(0, family)?, bits(1, bit, bit)?])?);
        }
        // Plain TCP, by default or by its number.
        rules.push(rule(&[is(0, family)?, is_not(2, 0)?, is_not(2, 6)?])?);
    }
    Ok(rules)
}

/// Sockets with a path lead to whatever listens on the machine, also to what starts programs for
/// whoever asks. A kernel that cannot tell them apart makes none, unless one is needed.
fn may_use_unix(spec: &ConfineSpec) -> bool {
    match &spec.unix {
        Unix::Any => true,
        Unix::Only(sockets) => !sockets.is_empty() || tells_sockets_apart(),
    }
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, seccompiler::Error> {
    Ok(SeccompRule::new(conditions.to_vec())?)
}

/// The kernel looks at the low half of all arguments that are judged here, and so do we: whatever
/// is in the other half changes nothing.
fn condition(
    index: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)?)
}

fn is(index: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    condition(index, SeccompCmpOp::Eq, value)
}

fn is_not(index: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    condition(index, SeccompCmpOp::Ne, value)
}

fn bits(index: u8, mask: u64, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    condition(index, SeccompCmpOp::MaskedEq(mask), value)
}
