use std::collections::BTreeMap;
use std::process;

use libc::c_long;
use rustix::process::Resource;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

/// The system calls that parsing needs, with any arguments: for open files, memory, synchronisation of threads, time,
/// random numbers and the end of the process.
const ALLOWED: [c_long; 25] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_restart_syscall,
    // Needed by a thread that a library has started but that has not run yet; otherwise it would end the process.
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Denies all other system calls in all threads of this process. Returns whether the kernel supports it.
pub(super) fn refuse_others() -> bool {
    filter().is_ok_and(|filter| apply_filter_all_threads(&filter).is_ok())
}

/// Denied calls fail with EPERM instead of ending the process, because libraries make optional calls.
fn filter() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    // Memory without permission to execute it.
    rules.insert(libc::SYS_mmap, rule([without(2, libc::PROT_EXEC)?])?);
    rules.insert(libc::SYS_mprotect, rule([without(2, libc::PROT_EXEC)?])?);
    // The memory limit of this process, which is set for each file.
    rules.insert(libc::SYS_prlimit64, rule([equal(0, 0)?, equal(1, Resource::Data as u32)?])?);
    // `abort` sends a signal to the own process.
    rules.insert(libc::SYS_tgkill, rule([equal(0, process::id())?])?);
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![SeccompRule::new(conditions.into())?])
}

fn equal(argument: u8, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())
}

fn without(argument: u8, flag: i32) -> Result<SeccompCondition, BackendError> {
    let flag = flag.unsigned_abs().into();
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), 0)
}
