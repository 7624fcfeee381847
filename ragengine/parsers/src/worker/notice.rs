use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use super::Confinement;

/// Says what workers are not kept from: once, however many there are.
#[derive(Debug, Default)]
struct Notice {
    was_said: AtomicBool,
}

static NOTICE: Notice = Notice { was_said: AtomicBool::new(false) };

/// Says in the log what a worker that has just been started is not kept from, if that is anything and nothing was said of an earlier one.
pub(crate) fn warn_once(confinement: Confinement) {
    if let Some(words) = NOTICE.words(confinement) {
        warn!("{words}");
    }
}

impl Notice {
    fn words(&self, confinement: Confinement) -> Option<&'static str> {
        confinement.shortfall().filter(|_| !self.was_said.swap(true, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_once() {
        let notice = Notice::default();
        let all = Confinement { files: true, network: true, calls: true };
        assert_eq!(notice.words(all), None);
        assert!(notice.words(Confinement { files: false, ..all }).is_some_and(|words| words.contains("Landlock")));
        assert_eq!(notice.words(Confinement { files: false, ..all }), None);
        assert_eq!(notice.words(Confinement::default()), None);
    }

    #[test]
    fn it_is_said_what_a_worker_could_do() {
        for (files, network, calls, words) in [
            (false, false, true, &["Landlock is not in force", "seccomp) alone"]),
            (true, true, false, &["no filter of system calls", "no other files and no TCP connections"]),
            (true, false, false, &["no filter of system calls", "could open connections"]),
            (false, false, false, &["neither Landlock nor", "could open other files and connections"]),
        ] {
            let said = Confinement { files, network, calls }.shortfall().unwrap();
            assert!(words.iter().all(|words| said.contains(words)), "{said}");
        }
        // The filter refuses what an old Landlock does not.
        assert_eq!(Confinement { files: true, network: false, calls: true }.shortfall(), None);
    }
}
