//! The seccomp filter of a helper: it can compute, and read and write open files. All other system
//! calls fail with "operation not permitted".

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// Memory, own threads, time, and open files.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // A second filter reports it as missing, so that programs fall back to `clone`, whose flags can
    // be checked.
    libc::SYS_clone3,
];

/// `PR_SET_NAME` and `PR_SET_VMA`: they name threads and memory.
const NAMES: [u64; 2] = [15, 0x5356_4d41];

const EXECUTABLE: u64 = 4;

pub(super) fn apply() -> Result<(), seccompiler::Error> {
    let (refused, absent) = (errno(libc::EPERM), errno(libc::ENOSYS));
    let architecture = std::env::consts::ARCH.try_into()?;
    let allowed = SeccompFilter::new(rules()?, refused, SeccompAction::Allow, architecture)?;
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let without_clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, absent, architecture)?;
    // Order matters: after the second filter, no further one can be installed.
    let filters: [BpfProgram; 2] = [without_clone3.try_into()?, allowed.try_into()?];
    filters.iter().try_for_each(|it| seccompiler::apply_filter(it))
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::Error> {
    let mut rules: BTreeMap<_, _> = ALLOWED.iter().map(|it| (*it, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_poll, Vec::new());
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(libc::SYS_clone, vec![rule(0, SeccompCmpOp::MaskedEq(thread), thread)?]);
    let not_executable = || rule(2, SeccompCmpOp::MaskedEq(EXECUTABLE), 0);
    rules.insert(libc::SYS_mmap, vec![not_executable()?]);
    rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
    // Its own limits, and signals to itself: `abort` sends one.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Eq, 0)?]);
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, own)?]);
    let names = NAMES.map(|it| rule(0, SeccompCmpOp::Eq, it));
    rules.insert(libc::SYS_prctl, names.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
}

/// Compares the low half of an argument. The kernel uses only that half here.
fn rule(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::Error> {
    let length = SeccompCmpArgLen::Dword;
    Ok(SeccompRule::new(vec![SeccompCondition::new(index, length, operator, value)?])?)
}
