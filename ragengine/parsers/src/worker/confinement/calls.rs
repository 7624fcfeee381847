use std::collections::BTreeMap;
use std::process;

use libc::c_long;
use rustix::process::Resource;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

/// The calls that parsing takes, with any arguments: to read and write what is open, and for memory, threads that wait for each other, the time, chance
/// and the end of the process.
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
    // A thread that a library has started, and that has not begun yet, would end the process without it.
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

/// Gives up every other call, in all threads of this process. Whether the kernel can do that.
pub(super) fn refuse_others() -> bool {
    filter().is_ok_and(|filter| apply_filter_all_threads(&filter).is_ok())
}

/// What is refused fails as what is not permitted does, instead of ending the process: libraries ask for things that they can do without.
fn filter() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    // Memory, but none that could be executed.
    rules.insert(libc::SYS_mmap, rule([without(2, libc::PROT_EXEC)?])?);
    rules.insert(libc::SYS_mprotect, rule([without(2, libc::PROT_EXEC)?])?);
    // Its own bound of memory, which is another for each file.
    rules.insert(libc::SYS_prlimit64, rule([equal(0, 0)?, equal(1, Resource::Data as u32)?])?);
    // A process that ends itself sends itself a signal.
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
