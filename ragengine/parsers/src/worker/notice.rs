use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use super::Confinement;

/// Reports missing confinement once, regardless of the number of workers.
#[derive(Debug, Default)]
struct Notice {
    was_reported: AtomicBool,
}

static NOTICE: Notice = Notice { was_reported: AtomicBool::new(false) };

/// Logs a warning if a new worker is not fully confined, unless one was logged before.
pub(crate) fn warn_once(confinement: Confinement) {
    if let Some(words) = NOTICE.words(confinement) {
        warn!("{words}");
    }
}

impl Notice {
    fn words(&self, confinement: Confinement) -> Option<&'static str> {
        confinement.shortfall().filter(|_| !self.was_reported.swap(true, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_confinement_is_reported_once() {
        let notice = Notice::default();
        let all = Confinement { files: true, network: true, calls: true };
        assert_eq!(notice.words(all), None);
        assert!(notice.words(Confinement { files: false, ..all }).is_some_and(|words| words.contains("Landlock")));
        assert_eq!(notice.words(Confinement { files: false, ..all }), None);
        assert_eq!(notice.words(Confinement::default()), None);
    }

    #[test]
    fn the_warning_names_the_possible_actions_of_a_worker() {
        for (files, network, calls, words) in [
            (false, false, true, &["Landlock is not in force", "seccomp) alone"]),
            (true, true, false, &["no filter of system calls", "no other files and no TCP connections"]),
            (true, false, false, &["no filter of system calls", "could open connections"]),
            (false, false, false, &["neither Landlock nor", "could open other files and connections"]),
        ] {
            let said = Confinement { files, network, calls }.shortfall().unwrap();
            assert!(words.iter().all(|words| said.contains(words)), "{said}");
        }
        // The filter refuses what an old Landlock allows.
        assert_eq!(Confinement { files: true, network: false, calls: true }.shortfall(), None);
    }
}
