use std::fs;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictSelfAttr, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetError, RulesetStatus, Scope,
};

/// What Landlock refuses this process from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Refused {
    pub files: bool,
    pub network: bool,
}

/// The newest version whose refusals are asked for. Where the kernel has an older one, they are those that it has.
const NEWEST: ABI = ABI::V10;

/// Gives up files, connections, and signals to other processes, as far as the kernel can refuse them. What is open stays open.
pub(super) fn refuse_all() -> Refused {
    // Before it is refused.
    let has_other_threads = fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() > 1);
    restrict().map_or_else(|_| Refused::default(), |status| refused(&status, has_other_threads))
}

/// No rule allows anything, so that all of it is refused.
fn restrict() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .all_threads(true)?
        .restrict_self()
}

/// A thread that is not restricted could do for another what that may not.
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
