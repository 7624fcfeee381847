use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::debug;

/// Raises the limit of open files to its maximum, and returns it. Each connection is an open file, and the default
/// limit of shells and systemd is below `limits.maxConnections`.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        debug!(%error, "the limit of open files cannot be raised");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
