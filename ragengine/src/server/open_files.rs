use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::debug;

/// Lets the process have as many files open as the system allows it, and says how many those are. Each connection is one, and what a
/// shell or systemd gives by default is fewer than `limits.maxConnections`.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        debug!(%error, "the limit of open files stays as it is");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
