//! The limit on open files: every connection is one, in this program and in the server.

use anyhow::{Context as _, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sees to it that this process, and those that it starts from now on, may have so many files open.
///
/// # Errors
///
/// When the system allows fewer.
pub fn allow(files: u64) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= files),
        "{files} files must be allowed to be open (`ulimit -Hn` says {}): raise the limit, or measure with --quick",
        limit.maximum.unwrap_or_default()
    );
    let raised = Rlimit { current: Some(files), ..limit };
    setrlimit(Resource::Nofile, raised).context("the limit on open files cannot be raised")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_stays_allowed() {
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
