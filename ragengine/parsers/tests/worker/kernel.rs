//! Detects the restrictions that the kernel supports, and simulates kernels that support fewer.

use std::collections::BTreeMap;
use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictSelfAttr, Ruleset, RulesetAttr, RulesetError,
    Scope,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The restrictions that are available to a process.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub landlock: ABI,
    pub seccomp: bool,
}

/// The restrictions that are simulated as unavailable.
#[derive(Debug, Clone, Copy, Default)]
pub struct Missing {
    pub landlock: bool,
    pub seccomp: bool,
}

pub const WITHOUT_LANDLOCK: &str = "--without-landlock";
pub const WITHOUT_SECCOMP: &str = "--without-seccomp";

impl Kernel {
    /// Detects the features of this machine's kernel, in a different way from the worker.
    pub fn of_this_machine() -> Self {
        Self { landlock: landlock(), seccomp: std::thread::spawn(|| apply([])).join().is_ok_and(|done| done.is_ok()) }
    }

    pub fn without(self, missing: Missing) -> Self {
        Self {
            landlock: if missing.landlock { ABI::Unsupported } else { self.landlock },
            seccomp: self.seccomp && !missing.seccomp,
        }
    }
}

impl Missing {
    pub const COMBINATIONS: [Self; 4] = [
        Self { landlock: false, seccomp: false },
        Self { landlock: true, seccomp: false },
        Self { landlock: false, seccomp: true },
        Self { landlock: true, seccomp: true },
    ];

    pub fn of_arguments(arguments: &[String]) -> Self {
        let has = |name| arguments.iter().any(|argument| argument == name);
        Self { landlock: has(WITHOUT_LANDLOCK), seccomp: has(WITHOUT_SECCOMP) }
    }

    pub fn arguments(self) -> impl Iterator<Item = &'static str> {
        [(self.landlock, WITHOUT_LANDLOCK), (self.seccomp, WITHOUT_SECCOMP)]
            .into_iter()
            .filter_map(|(is_missing, name)| is_missing.then_some(name))
    }

    /// Makes the system calls of the missing restrictions fail as unknown, for this process and its children.
    pub fn forget(self) -> io::Result<()> {
        let landlock = self.landlock.then_some(libc::SYS_landlock_create_ruleset);
        let seccomp = self.seccomp.then_some(libc::SYS_seccomp);
        let calls: Vec<i64> = landlock.into_iter().chain(seccomp).collect();
        if calls.is_empty() { Ok(()) } else { apply(calls) }
    }
}

fn apply(unknown: impl IntoIterator<Item = i64>) -> io::Result<()> {
    let calls: BTreeMap<_, _> = unknown.into_iter().map(|call| (call, Vec::new())).collect();
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, unknown, architecture).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

/// Requests a feature strictly, without a fallback.
type Ask = fn() -> Result<(), RulesetError>;

/// The newest supported version among those that added restrictions used by the tests.
fn landlock() -> ABI {
    let steps: [(ABI, Ask); 5] = [
        (ABI::V10, || strict().handle_access(AccessNet::from_all(ABI::V10))?.create().map(drop)),
        (ABI::V8, || {
            let ruleset = strict().handle_access(AccessFs::Execute)?.create()?;
            ruleset.set_compatibility(CompatLevel::HardRequirement).all_threads(true).map(drop)
        }),
        (ABI::V6, || strict().scope(Scope::from_all(ABI::V6))?.create().map(drop)),
        (ABI::V4, || strict().handle_access(AccessNet::from_all(ABI::V4))?.create().map(drop)),
        (ABI::V1, || strict().handle_access(AccessFs::from_all(ABI::V1))?.create().map(drop)),
    ];
    steps.into_iter().find(|(_, has)| has().is_ok()).map_or(ABI::Unsupported, |(abi, _)| abi)
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}
