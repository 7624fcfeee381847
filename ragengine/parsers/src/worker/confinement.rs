use serde::{Deserialize, Serialize};

/// What the kernel keeps a worker from, whatever a file makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock refuses it every file and folder: it can open, make and execute none.
    pub files: bool,
    /// Landlock refuses it TCP connections. It is part of Linux 6.7 and newer.
    pub network: bool,
    /// A filter (seccomp) refuses it every system call that parsing does not take: those for files and connections, and all others.
    pub calls: bool,
}
