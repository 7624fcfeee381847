use std::fs;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictSelfAttr, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetError, RulesetStatus, Scope,
};

/// The restrictions that Landlock enforces for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Refused {
    pub files: bool,
    pub network: bool,
}

/// The newest requested version of Landlock. An older kernel enforces the restrictions that it supports.
const NEWEST: ABI = ABI::V10;

/// Denies access to files, connections and signals to other processes, as far as the kernel supports it. Open files
/// stay open.
pub(super) fn refuse_all() -> Refused {
    // Read before access to files is denied.
    let has_other_threads = fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() > 1);
    restrict().map_or_else(|_| Refused::default(), |status| refused(&status, has_other_threads))
}

/// Restricts the process with a ruleset without rules, so that everything is denied.
fn restrict() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .all_threads(true)?
        .restrict_self()
}

/// The restrictions count only if they apply to all threads, because an unrestricted thread could act for the others.
fn refused(status: &RestrictionStatus, has_other_threads: bool) -> Refused {
    let is_enforced = status.ruleset != RulesetStatus::NotEnforced;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. }
            if is_enforced && (status.all_threads || !has_other_threads) =>
        {
            Refused { files: true, network: effective_abi >= ABI::V4 }
        }
        _ => Refused::default(),
    }
}
