mod calls;
mod landlock;

use serde::{Deserialize, Serialize};

/// The kernel restrictions of a worker, which hold even if a file takes the worker over. Each may be unavailable,
/// depending on the kernel and the container runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock denies all access to files and folders: opening, listing, creating, removing and executing.
    pub files: bool,
    /// Landlock denies TCP connections. Needs Linux 6.7 or newer.
    pub network: bool,
    /// A seccomp filter denies every system call that parsing does not need, including those for files and connections.
    pub calls: bool,
}

impl Confinement {
    /// The warning for a worker without Landlock or without the seccomp filter. None if both are in force, even with an
    /// old Landlock, because the filter denies what that allows.
    pub fn shortfall(&self) -> Option<&'static str> {
        match (self.files, self.network, self.calls) {
            (true, _, true) => None,
            (false, _, true) => Some(
                "Landlock is not in force: this kernel has none, or it is disabled for this process. The process that \
                 parses web pages and PDF files is confined by its filter of system calls (seccomp) alone",
            ),
            (true, true, false) => Some(
                "no filter of system calls (seccomp) is in force: this kernel has none, or it is disabled for this \
                 process. The process that parses web pages and PDF files can open no other files and no TCP \
                 connections, but a malicious file that takes it over could make any other system call",
            ),
            (true, false, false) => Some(
                "no filter of system calls (seccomp) is in force: this kernel has none, or it is disabled for this \
                 process. The process that parses web pages and PDF files can open no other files, but a malicious \
                 file that takes it over could open connections",
            ),
            (false, _, false) => Some(
                "neither Landlock nor a filter of system calls (seccomp) is in force: this kernel has none, or it is \
                 disabled for this process. A malicious web page or PDF file that takes over the process that parses \
                 it could open other files and connections",
            ),
        }
    }
}

/// The first stage of confining a process that becomes a worker.
#[derive(Debug)]
pub(super) struct Confining {
    landlock: landlock::Refused,
}

impl Confining {
    /// Applies Landlock. Call it before the process starts threads, because Landlock restricts only the calling thread
    /// and threads that it starts later.
    pub(super) fn begin() -> Self {
        Self { landlock: landlock::refuse_all() }
    }

    /// Applies the seccomp filter. Call it when the process has all its threads, because no other can be started
    /// afterwards.
    pub(super) fn end(self) -> Confinement {
        let landlock::Refused { files, network } = self.landlock;
        Confinement { files, network, calls: calls::refuse_others() }
    }
}
