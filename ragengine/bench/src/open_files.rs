//! The limit of open files. Each connection counts as one, in this program and in the server.

use anyhow::{Context as _, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to at least `files`, for this process and for processes that it starts later.
///
/// # Errors
///
/// If the hard limit is lower.
pub fn allow(files: u64) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= files),
        "the benchmark needs {files} open files, but the hard limit is {} (`ulimit -Hn`): raise it, or use --quick",
        limit.maximum.unwrap_or_default()
    );
    let raised = Rlimit { current: Some(files), ..limit };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_never_lowered() {
        let before = getrlimit(Resource::Nofile);
        allow(1).unwrap();
        assert_eq!(getrlimit(Resource::Nofile), before);
        if let Some(maximum) = before.maximum {
            assert!(allow(maximum + 1).is_err());
            allow(maximum).unwrap();
            assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum));
        }
    }
}
