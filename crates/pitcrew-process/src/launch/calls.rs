//! seccomp: refuses system calls that a confined program never needs, by number and argument. Paths
//! cannot be inspected here.
//!
//! A refused call fails with "operation not permitted". Some fail as if the kernel did not support
//! them, so that programs fall back to calls that can be checked: `clone3` and `openat2`, whose
//! arguments cannot be inspected, System V IPC without a box, and all calls of the x32 ABI, which
//! duplicate other calls. Setting file attributes without a box fails as "not supported". A call of
//! another architecture kills the program.

use super::{
    landlock::{distinguishes_sockets, prevents_tracing},
    spec::{Calls, ConfineSpec, Unix},
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

/// System calls that control the kernel, or that bypass the rules for files.
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
    // Reports every file that is opened on a file system, readable or not.
    libc::SYS_fanotify_init,
];

/// System calls that create namespaces and mounts.
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

/// `open_tree_attr`. It has the same number on all architectures and is newer than `libc`'s list.
const OPEN_TREE_ATTR: i64 = 467;

/// `fchmodat2`, likewise.
const FCHMODAT2: i64 = 452;

/// System calls that change attributes of a file by its path, among them its access control list.
/// Landlock does not restrict them.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// `setxattrat`, with the same number on all architectures, like the two below.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// `ioctl` requests that change a file that is only open for reading: inode flags, version,
/// project, `fs-verity` (which makes a file permanently read-only) and encryption.
const FILE_ATTRIBUTES: &[u64] =
    &[0x4008_6602, 0x4004_6602, 0x4008_7602, 0x401c_5820, 0x4080_6685, 0x800c_6613];

/// The `ioctl` group of btrfs, which can create subvolumes in folders that are only readable. The
/// three `CLONES` of this group copy file contents and need a writable target.
const BTRFS: (u64, u64) = (0xff00, 0x9400);
const CLONES: &[u64] = &[0x4004_9409, 0x4020_940d, 0xc018_9436];

/// The bits of a socket type that are not flags.
const KIND: u64 = 0xf;

/// Types of socket pairs whose ends can send to any path. `AF_UNIX` treats `SOCK_RAW` as
/// `SOCK_DGRAM`.
const DATAGRAMS: &[i32] = &[libc::SOCK_DGRAM, libc::SOCK_RAW];

/// System calls that inspect other processes.
const OTHERS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// System V shared memory, message queues and semaphores, which all programs of a user share. The
/// kernel may be built without them.
const SYSTEM_V: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
];

/// Creating and removing message queues by name, which a box has for itself.
const POSIX_QUEUES: &[i64] = &[libc::SYS_mq_open, libc::SYS_mq_unlink];

/// `F_SETLEASE`: a lease on a file delays every program that opens it, in a box and outside.
const SET_LEASE: u64 = 1_024;

/// `PRIO_USER`
const ALL_OF_USER: u64 = 2;

/// Flags of `clone` and `unshare` that make a namespace.
const NEW: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// `CLONE_NEWTIME`, for `unshare` only: `clone` has the number of a signal there.
const NEW_TIME: u64 = 0x80;

/// `TIOCSTI` and `TIOCLINUX`: type into a terminal, or copy from it.
const TERMINAL: &[u64] = &[0x5412, 0x541c];

/// `MSG_FASTOPEN`: sends data and connects in one call, which Landlock does not check.
const FAST_OPEN: u64 = 0x2000_0000;

/// The bit of system call numbers of the x32 ABI.
const X32: u32 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The inputs of a program's filter.
#[derive(Clone, Copy)]
struct FilterOptions {
    calls: Calls,
    unix: bool,
    /// Whether only TCP is allowed, to the ports that Landlock allows.
    only_tcp: bool,
    /// Whether it may trace its own children. Landlock protects all other processes.
    traces: bool,
}

/// Installs the filters of a program without a box.
pub(super) fn apply(spec: &ConfineSpec) -> Result<(), seccompiler::Error> {
    let options = FilterOptions {
        calls: spec.calls,
        unix: may_use_unix(spec),
        only_tcp: spec.ports.is_some(),
        traces: false,
    };
    for filter in filters(options)? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

/// The filters that bubblewrap installs for every process of a box, in its format.
pub(crate) fn filters_of_box(calls: Calls) -> Result<Vec<Vec<u8>>, seccompiler::Error> {
    let traces = prevents_tracing(calls);
    let options = FilterOptions { calls, unix: true, only_tcp: false, traces };
    Ok(filters(options)?.iter().map(encoded).collect())
}

fn filters(options: FilterOptions) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let refused = u32::try_from(libc::EPERM).unwrap_or(1);
    let absent = u32::try_from(libc::ENOSYS).unwrap_or(1);
    let unsupported = u32::try_from(libc::ENOTSUP).unwrap_or(1);
    let mut filters = vec![without_x32(absent)];
    let mut missing = vec![libc::SYS_openat2];
    if options.calls != Calls::Nesting {
        missing.push(libc::SYS_clone3);
    }
    if options.calls == Calls::Unboxed {
        missing.extend(SYSTEM_V);
        missing.extend(POSIX_QUEUES);
    }
    filters.push(compiled(all(&missing), absent)?);
    if options.calls == Calls::Unboxed {
        filters.push(compiled(all(ATTRIBUTES), unsupported)?);
    }
    filters.push(compiled(rules(options)?, refused)?);
    Ok(filters)
}

/// Refuses these calls with any arguments.
fn all(calls: &[i64]) -> Rules {
    calls.iter().map(|it| (*it, Vec::new())).collect()
}

/// The refused `ioctl` requests.
fn ioctls(options: FilterOptions) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let requests =
        |all: &[u64]| all.iter().map(|it| rule(&[is(1, *it)?])).collect::<Result<Vec<_>, _>>();
    let mut rules = requests(TERMINAL)?;
    if options.calls == Calls::Unboxed {
        rules.extend(requests(FILE_ATTRIBUTES)?);
        let mut volumes = vec![bits(1, BTRFS.0, BTRFS.1)?];
        volumes.extend(CLONES.iter().map(|it| is_not(1, *it)).collect::<Result<Vec<_>, _>>()?);
        rules.push(rule(&volumes)?);
    }
    Ok(rules)
}

/// Encodes the instructions in the kernel's binary format.
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

/// Four instructions: load the number, compare it, refuse, allow.
fn without_x32(errno: u32) -> BpfProgram {
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32),
        instruction(0x06, 0, 0, u32::from(SeccompAction::Errno(errno))),
        instruction(0x06, 0, 0, u32::from(SeccompAction::Allow)),
    ]
}

fn rules(options: FilterOptions) -> Result<Rules, seccompiler::Error> {
    let mut never = NEVER.to_vec();
    let mut rules = Rules::new();
    #[cfg(target_arch = "x86_64")]
    never.extend([libc::SYS_iopl, libc::SYS_ioperm]);
    if options.calls != Calls::Nesting {
        never.extend(NAME_SPACES);
        let flags = NEW.iter().map(|it| u64::from(it.unsigned_abs()));
        let made = flags.map(|it| rule(&[bits(0, it, it)?])).collect::<Result<Vec<_>, _>>()?;
        let time = rule(&[bits(0, NEW_TIME, NEW_TIME)?])?;
        rules.insert(libc::SYS_unshare, [made.clone(), vec![time]].concat());
        rules.insert(libc::SYS_clone, made);
    }
    if !options.traces {
        never.extend(OTHERS);
    }
    if options.calls == Calls::Unboxed {
        // A limit can kill a process, as a signal can. A process refers to itself by 0.
        rules.insert(libc::SYS_prlimit64, vec![rule(&[is_not(0, 0)?])?]);
        rules.insert(libc::SYS_setpriority, vec![rule(&[is(0, ALL_OF_USER)?])?]);
    }
    rules.extend(all(&never));
    rules.insert(libc::SYS_ioctl, ioctls(options)?);
    rules.insert(libc::SYS_fcntl, vec![rule(&[is(1, SET_LEASE)?])?]);
    rules.insert(libc::SYS_socket, sockets(options)?);
    rules.insert(libc::SYS_socketpair, pairs(options)?);
    rules.extend(set_id()?);
    if options.only_tcp {
        for (call, index) in
            [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
        {
            rules.insert(call, vec![rule(&[bits(index, FAST_OPEN, FAST_OPEN)?])?]);
        }
        if !options.unix {
            // Without `bind`, which Landlock refuses, `listen` would use a random port on all
            // addresses.
            rules.insert(libc::SYS_listen, Vec::new());
        }
    }
    Ok(rules)
}

/// Refuses `S_ISUID` and `S_ISGID` in every call that takes a mode. `mkdir` ignores these bits.
fn set_id() -> Result<Rules, seccompiler::Error> {
    let ids = [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)];
    // With either flag, `open` creates a file with the mode that follows.
    let making = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY]
        .map(|it| u64::from(it.unsigned_abs()));
    let mode = |index: u8| -> Result<_, seccompiler::Error> {
        ids.iter().map(|id| rule(&[bits(index, *id, *id)?])).collect::<Result<Vec<_>, _>>()
    };
    let opened = |flags: u8| -> Result<_, seccompiler::Error> {
        let pairs = ids.iter().flat_map(|id| making.iter().map(move |flag| (*id, *flag)));
        pairs
            .map(|(id, flag)| rule(&[bits(flags, flag, flag)?, bits(flags + 1, id, id)?]))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut rules = Rules::new();
    for (call, index) in
        [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)]
    {
        rules.insert(call, mode(index)?);
    }
    rules.insert(libc::SYS_openat, opened(2)?);
    #[cfg(target_arch = "x86_64")]
    {
        for call in [libc::SYS_chmod, libc::SYS_creat, libc::SYS_mknod] {
            rules.insert(call, mode(1)?);
        }
        rules.insert(libc::SYS_open, opened(1)?);
    }
    Ok(rules)
}

/// Refuses socket pairs of all families except `AF_UNIX`. If sockets with a path are refused, also
/// refuses the types whose ends can send to any path.
fn pairs(options: FilterOptions) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut rules = vec![rule(&[is_not(0, unix)?])?];
    if !options.unix {
        for kind in DATAGRAMS {
            rules.push(rule(&[bits(1, KIND, u64::from(kind.unsigned_abs()))?])?);
        }
    }
    Ok(rules)
}

/// Refuses sockets. The families that are not listed here bypass network namespaces, or no agent
/// needs them.
fn sockets(options: FilterOptions) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let family = |it: i32| u64::from(it.unsigned_abs());
    let (unix, netlink) = (family(libc::AF_UNIX), family(libc::AF_NETLINK));
    let internet = [family(libc::AF_INET), family(libc::AF_INET6)];
    let mut known = vec![netlink, internet[0], internet[1]];
    if options.unix {
        known.push(unix);
    }
    let unknown = known.iter().map(|it| is_not(0, *it)).collect::<Result<Vec<_>, _>>()?;
    // Of netlink, allows only the protocol that lists network interfaces.
    let mut rules = vec![rule(&unknown)?, rule(&[is(0, netlink)?, is_not(2, 0)?])?];
    if !options.only_tcp {
        return Ok(rules);
    }
    for family in internet {
        // The type is in the low four bits, and `SOCK_STREAM` is 1, so any other bit means another
        // type.
        rules.push(rule(&[is(0, family)?, bits(1, 1, 0)?])?);
        for bit in [2, 4, 8] {
            rules.push(rule(&[is(0, family)?, bits(1, bit, bit)?])?);
        }
        // Only plain TCP, as the default or by its number.
        rules.push(rule(&[is(0, family)?, is_not(2, 0)?, is_not(2, 6)?])?);
    }
    Ok(rules)
}

/// Sockets with a path lead to any service of the machine, including services that start programs
/// on request. If the kernel cannot distinguish them, none can be created unless one is needed.
fn may_use_unix(spec: &ConfineSpec) -> bool {
    match &spec.unix {
        Unix::Any => true,
        Unix::Only(sockets) => !sockets.is_empty() || distinguishes_sockets(),
    }
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, seccompiler::Error> {
    Ok(SeccompRule::new(conditions.to_vec())?)
}

/// Compares the low half of an argument, like the kernel does for all arguments that are checked
/// here. The high half has no effect.
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
