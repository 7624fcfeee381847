mod calls;
mod landlock;

use serde::{Deserialize, Serialize};

/// What the kernel keeps a worker from, whatever a file makes of it. Any of it may be missing: it depends on the kernel, and on what runs a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock refuses it every file and folder: it can open, list, make, remove and execute none.
    pub files: bool,
    /// Landlock refuses it TCP connections. It is part of Linux 6.7 and newer.
    pub network: bool,
    /// A filter (seccomp) refuses it every system call that parsing does not take: those for files and connections, and all others.
    pub calls: bool,
}

impl Confinement {
    /// What a worker can do because the kernel has no Landlock at all, or no filter of calls. None when both are in force: the filter also refuses
    /// what an old Landlock does not.
    pub fn shortfall(&self) -> Option<&'static str> {
        match (self.files, self.network, self.calls) {
            (true, _, true) => None,
            (false, _, true) => Some(
                "Landlock is not in force: this kernel has none, or not for this process. What keeps the process that reads web pages and PDF files \
                 from other files and connections is its filter of system calls (seccomp) alone",
            ),
            (true, true, false) => Some(
                "no filter of system calls (seccomp) is in force: this kernel has none, or not for this process. The process that reads web pages \
                 and PDF files can open no other files and no TCP connections, but a file that takes it over could ask the kernel for anything else",
            ),
            (true, false, false) => Some(
                "no filter of system calls (seccomp) is in force: this kernel has none, or not for this process. The process that reads web pages \
                 and PDF files can open no other files, but a file that takes it over could open connections",
            ),
            (false, _, false) => Some(
                "neither Landlock nor a filter of system calls (seccomp) is in force: this kernel has none, or not for this process. Web pages and \
                 PDF files are read by a process that could open other files and connections if one of them takes it over",
            ),
        }
    }
}

/// What has been given up in a process that is about to become a worker.
#[derive(Debug)]
pub(super) struct Confining {
    landlock: landlock::Refused,
}

impl Confining {
    /// Begins, before the process has threads of its own: Landlock restricts the thread that asks for it, and those that it starts.
    pub(super) fn begin() -> Self {
        Self { landlock: landlock::refuse_all() }
    }

    /// Ends, when the process has all the threads that it needs: no other can be started then.
    pub(super) fn end(self) -> Confinement {
        let landlock::Refused { files, network } = self.landlock;
        Confinement { files, network, calls: calls::refuse_others() }
    }
}
