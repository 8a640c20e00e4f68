//! Finds the system calls that pass the filters of the box, by number and by argument.
//!
//! The probe adds another filter to a child process. A call with a mark in its sixth argument is
//! not executed; a thread answers it with a special error instead. If a filter of the box refuses
//! the call, that filter takes precedence. So every call can be tried, including those that would
//! halt the machine, and the result does not depend on the kernel's version.

use crate::{Report, errno, in_child};
use std::{
    fs::File,
    io::Read,
    os::fd::FromRawFd,
    sync::atomic::{AtomicI32, Ordering},
};

/// The sixth argument of a call that must not be executed.
const MARK: u32 = 0x5EED_5EED;

/// The error that the thread returns. The kernel does not use this number.
const PASSED: i32 = 3_000;

/// The descriptor on which the kernel notifies the thread of calls; 0 if there is none yet.
static LISTENER: AtomicI32 = AtomicI32::new(0);

/// Numbers and names of system calls.
#[cfg(target_arch = "x86_64")]
const CALLS: &str = include_str!("calls-x86_64.txt");
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &str = "";
/// The last number of the list.
const NAMED_MAX: i64 = 469;
/// Unnamed calls are tried up to this number.
const NUMBERS_MAX: i64 = 480;

const FAMILIES: &[(i32, &str)] = &[
    (1, "unix"),
    (2, "inet"),
    (3, "ax25"),
    (4, "ipx"),
    (5, "appletalk"),
    (9, "x25"),
    (10, "inet6"),
    (15, "key"),
    (16, "netlink"),
    (17, "packet"),
    (21, "rds"),
    (24, "pppox"),
    (29, "can"),
    (30, "tipc"),
    (31, "bluetooth"),
    (33, "rxrpc"),
    (38, "alg"),
    (39, "nfc"),
    (40, "vsock"),
    (41, "kcm"),
    (42, "qipcrtr"),
    (43, "smc"),
    (44, "xdp"),
    (45, "mctp"),
];
const KINDS: &[(i32, &str)] =
    &[(1, "stream"), (2, "dgram"), (3, "raw"), (4, "rdm"), (5, "seqpacket"), (6, "dccp")];

pub fn survey(report: &mut Report) {
    for line in in_filtered_child().lines() {
        report.add(line);
    }
    existing_sockets(report);
    other_abi(report);
}

/// A call whose result depends on its arguments.
struct Variant {
    name: String,
    number: libc::c_long,
    arguments: [u64; 5],
}

fn variant(name: &str, number: libc::c_long, arguments: &[u64]) -> Variant {
    let mut all = [0; 5];
    all[..arguments.len()].copy_from_slice(arguments);
    Variant { name: name.to_owned(), number, arguments: all }
}

fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for (name, flag) in [
        ("CLONE_NEWNS", libc::CLONE_NEWNS),
        ("CLONE_NEWCGROUP", libc::CLONE_NEWCGROUP),
        ("CLONE_NEWUTS", libc::CLONE_NEWUTS),
        ("CLONE_NEWIPC", libc::CLONE_NEWIPC),
        ("CLONE_NEWUSER", libc::CLONE_NEWUSER),
        ("CLONE_NEWPID", libc::CLONE_NEWPID),
        ("CLONE_NEWNET", libc::CLONE_NEWNET),
        ("CLONE_NEWTIME", 0x80),
    ] {
        let flag = u64::from(flag.unsigned_abs());
        // For `clone`, this flag is part of a signal number.
        if name != "CLONE_NEWTIME" {
            all.push(variant(&format!("clone({name})"), libc::SYS_clone, &[flag]));
        }
        all.push(variant(&format!("unshare({name})"), libc::SYS_unshare, &[flag]));
    }
    for (name, request) in [("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSCTTY", 0x540E)] {
        all.push(variant(&format!("ioctl({name})"), libc::SYS_ioctl, &[0, request]));
        let wide = request | 1 << 32;
        all.push(variant(&format!("ioctl({name} with more bits)"), libc::SYS_ioctl, &[0, wide]));
    }
    for (name, bit) in [("S_ISUID", 0o4000), ("S_ISGID", 0o2000)] {
        let mut add = |call: &str, number, arguments: &[u64]| {
            all.push(variant(&format!("{call}({name})"), number, arguments));
        };
        add("fchmod", libc::SYS_fchmod, &[0, bit]);
        add("fchmodat", libc::SYS_fchmodat, &[0, 0, bit]);
        add("fchmodat2", 452, &[0, 0, bit]);
        add("mknodat", libc::SYS_mknodat, &[0, 0, bit]);
        add("openat", libc::SYS_openat, &[0, 0, 0o100, bit]);
        #[cfg(target_arch = "x86_64")]
        {
            add("chmod", libc::SYS_chmod, &[0, bit]);
            add("creat", libc::SYS_creat, &[0, bit]);
            add("mknod", libc::SYS_mknod, &[0, bit]);
            add("open", libc::SYS_open, &[0, 0o100, bit]);
        }
    }
    for (name, request) in [
        ("FS_IOC_SETFLAGS", 0x4008_6602),
        ("FS_IOC_FSSETXATTR", 0x401C_5820),
        ("FS_IOC_ENABLE_VERITY", 0x4080_6685),
        ("BTRFS_IOC_SUBVOL_CREATE", 0x5000_940E),
    ] {
        all.push(variant(&format!("ioctl({name})"), libc::SYS_ioctl, &[0, request]));
    }
    let fast_open = 0x2000_0000;
    all.push(variant("sendto(MSG_FASTOPEN)", libc::SYS_sendto, &[0, 0, 0, fast_open]));
    all.push(variant("sendmsg(MSG_FASTOPEN)", libc::SYS_sendmsg, &[0, 0, fast_open]));
    all.push(variant("prlimit64(another process)", libc::SYS_prlimit64, &[1]));
    all.push(variant("setpriority(PRIO_USER)", libc::SYS_setpriority, &[2]));
    all.push(variant("setpriority(another process)", libc::SYS_setpriority, &[0, 1]));
    all.push(variant("prctl(PR_SET_PTRACER)", libc::SYS_prctl, &[0x5961_6D61]));
    all
}

fn sockets() -> Vec<Variant> {
    let mut all = Vec::new();
    for family in 0..64 {
        let name = FAMILIES.iter().find(|it| it.0 == family).map(|it| it.1);
        let name = name.map_or_else(|| format!("family {family}"), str::to_owned);
        for (kind, kind_name) in KINDS {
            let arguments = [u64::from(family.unsigned_abs()), u64::from(kind.unsigned_abs())];
            let number = libc::SYS_socket;
            all.push(variant(&format!("socket {name} {kind_name}"), number, &arguments));
            if family == 1 {
                let number = libc::SYS_socketpair;
                all.push(variant(&format!("socketpair {name} {kind_name}"), number, &arguments));
            }
        }
    }
    for (protocol, name) in [(17, "udp"), (132, "sctp"), (262, "mptcp"), (1, "icmp")] {
        let kind = if protocol == 17 || protocol == 1 { 2 } else { 1 };
        all.push(variant(&format!("socket inet {name}"), libc::SYS_socket, &[2, kind, protocol]));
    }
    for protocol in 1..23 {
        let name = format!("socket netlink protocol {protocol}");
        all.push(variant(&name, libc::SYS_socket, &[16, 3, protocol]));
    }
    all
}

/// The report of a child process that is under the filter.
fn in_filtered_child() -> String {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written to an array of two.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return "call survey failed".to_owned();
    }
    let ended = in_child(|| {
        let mut text = String::new();
        if !set_filter() {
            return 1;
        }
        for number in 0..NUMBERS_MAX {
            if let Some(name) = name_of(number) {
                add(&mut text, "call", &variant(&name, number, &[]));
            }
        }
        for it in variants() {
            add(&mut text, "call", &it);
        }
        for it in sockets() {
            add(&mut text, "may", &it);
        }
        // SAFETY: the bytes are ours, and they fit into the pipe, whose other end is read after the
        // child exits.
        let written =
            unsafe { libc::write(ends[1], text.as_ptr().cast::<libc::c_void>(), text.len()) };
        u8::from(usize::try_from(written) != Ok(text.len()))
    });
    // SAFETY: both are open and owned only by us.
    let (mut read, write) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    drop(write);
    let mut text = String::new();
    read.read_to_string(&mut text).ok();
    if ended == Ok(0) { text } else { format!("call survey failed {ended:?}\n") }
}

fn name_of(number: i64) -> Option<String> {
    let mut named = CALLS.lines().filter_map(|it| it.split_once(' '));
    let known = named.find(|it| it.0.parse() == Ok(number)).map(|it| it.1.to_owned());
    // Calls that are newer than the list.
    known.or_else(|| (number > NAMED_MAX).then(|| format!("number {number}")))
}

/// Any other result comes from a filter of the box, which refuses the call.
fn add(text: &mut String, class: &str, it: &Variant) {
    let [first, second, third, fourth, fifth] = it.arguments;
    // SAFETY: the filter stops the call before the kernel reads its arguments.
    let result =
        unsafe { libc::syscall(it.number, first, second, third, fourth, fifth, u64::from(MARK)) };
    match (result, errno()) {
        (-1, PASSED) => text.extend([class, " ", &it.name, "\n"]),
        (-1, _) => {}
        _ => text.extend([class, " ", &it.name, " (was carried out)\n"]),
    }
}

fn set_filter() -> bool {
    std::thread::spawn(answer);
    let instruction = |code: u16, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The low half of the sixth argument.
    let sixth = 16 + 5 * 8;
    let mut program = [
        instruction(0x20, 0, 0, sixth),
        instruction(0x15, 0, 1, MARK),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
    // SAFETY: the program lives until the call returns, and applies to this thread only.
    let listener = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    LISTENER.store(i32::try_from(listener).unwrap_or(0), Ordering::SeqCst);
    listener > 0
}

/// The kernel's notification of a call, and the response.
#[repr(C)]
#[derive(Default)]
struct Notice {
    id: u64,
    rest: [u64; 9],
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

fn answer() {
    const RECEIVE: libc::c_ulong = 0xC050_2100;
    const SEND: libc::c_ulong = 0xC018_2101;
    loop {
        let listener = LISTENER.load(Ordering::SeqCst);
        if listener == 0 {
            // SAFETY: this only waits for the timeout.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 1) };
            continue;
        }
        let mut notice = Notice::default();
        // SAFETY: the kernel writes no more than the size of the notice.
        if unsafe { libc::ioctl(listener, RECEIVE, &raw mut notice) } == 0 {
            let answer = Answer { id: notice.id, value: 0, error: -PASSED, flags: 0 };
            // SAFETY: the kernel reads no more than the size of the answer.
            unsafe { libc::ioctl(listener, SEND, &raw const answer) };
        }
    }
}

/// Creates the sockets, because one that passes the filter may not be supported by the kernel.
fn existing_sockets(report: &mut Report) {
    for (family, family_name) in FAMILIES {
        for (kind, kind_name) in KINDS {
            // SAFETY: the call uses none of our memory, and the new socket is closed.
            let made = unsafe { libc::socket(*family, *kind, 0) };
            if made >= 0 {
                report.add(format_args!("socket {family_name} {kind_name}"));
                // SAFETY: it was just created.
                unsafe { libc::close(made) };
            }
        }
    }
}

/// System calls of 32-bit programs have different numbers.
fn other_abi(report: &mut Report) {
    #[cfg(target_arch = "x86_64")]
    {
        let ended = in_child(|| {
            let mut answer = 20_u64;
            // SAFETY: this returns the process id and changes nothing else.
            unsafe {
                std::arch::asm!(
                    "int 0x80",
                    inlateout("rax") answer,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                );
            }
            u8::from(answer == u64::from(std::process::id()))
        });
        if ended == Ok(1) {
            report.add("call of 32-bit programs");
        }
    }
}
