//! Remembers the objects that were sent last, until the caches show them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long the cache may not show an object that was sent. After that, the object counts as deleted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kind, namespace and name. The kind is borrowed because there may be thousands of keys.
pub type Key = (Cow<'static, str>, String, String);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    hash: String,
    resource_version: Option<u64>,
    /// When it was sent. `None` once the cache has shown it: if it is missing after that, it was deleted.
    at: Option<Instant>,
}

/// How to treat a desired object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The live object is the one that was sent: do nothing.
    Nothing,
    /// The cache does not show the sent object yet: wait.
    Wait,
    /// Compare the live object with the desired one.
    Compare,
}

/// The objects that were sent last.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<Key, Sent>>);

impl Memory {
    /// Records an object that was sent, and the resource version that it got.
    pub fn sent(&self, key: Key, hash: &str, resource_version: Option<&str>) {
        self.insert(key, hash, resource_version, Some(Instant::now()));
    }

    /// Records that the cached object is as desired.
    pub fn shown(&self, key: Key, hash: &str, resource_version: Option<&str>) {
        self.insert(key, hash, resource_version, None);
    }

    fn insert(&self, key: Key, hash: &str, resource_version: Option<&str>, at: Option<Instant>) {
        let resource_version = resource_version.and_then(|version| version.parse().ok());
        self.0.lock().insert(key, Sent { hash: hash.to_owned(), resource_version, at });
    }

    /// Decides how to treat a desired object with this hash, given the resource version in the cache, if any.
    pub fn decide(&self, key: &Key, hash: &str, cached: Option<&str>) -> Decision {
        let mut memory = self.0.lock();
        let Some(sent) = memory.get_mut(key).filter(|sent| sent.hash == hash) else { return Decision::Compare };
        let cached = cached.and_then(|version| version.parse().ok());
        let decision = decide(sent.resource_version, cached, sent.at.map(|at| at.elapsed()));
        if decision == Decision::Nothing {
            sent.at = None;
        }
        decision
    }

    /// Forgets the objects of these names, of any kind.
    pub fn forget(&self, namespace: &str, names: &[String]) {
        self.0.lock().retain(|(_, in_namespace, name), _| in_namespace != namespace || !names.contains(name));
    }
}

/// Resource versions are compared as numbers, because every API server increments them. `since` is the time since the
/// object was sent, while the cache has not shown it.
fn decide(sent: Option<u64>, cached: Option<u64>, since: Option<Duration>) -> Decision {
    let may_lag = since.is_some_and(|since| since < PATIENCE);
    match (sent, cached) {
        (Some(sent), Some(cached)) if cached == sent => Decision::Nothing,
        (Some(sent), Some(cached)) if cached < sent && may_lag => Decision::Wait,
        (Some(_), None) if may_lag => Decision::Wait,
        _ => Decision::Compare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lagging_cache_is_waited_for_a_limited_time() {
        let (soon, late) = (Some(Duration::from_millis(1)), Some(PATIENCE));
        for (sent, cached, since, decision) in [
            (Some(7), Some(7), late, Decision::Nothing),
            (Some(7), Some(7), None, Decision::Nothing),
            (Some(7), Some(6), soon, Decision::Wait),
            (Some(7), Some(6), late, Decision::Compare),
            (Some(7), Some(8), soon, Decision::Compare),
            (Some(7), None, soon, Decision::Wait),
            (Some(7), None, late, Decision::Compare),
            (Some(7), None, None, Decision::Compare),
            (None, Some(8), soon, Decision::Compare),
        ] {
            assert_eq!(decide(sent, cached, since), decision, "{sent:?} {cached:?} {since:?}");
        }
    }

    #[test]
    fn changed_content_is_compared() {
        let memory = Memory::default();
        let key: Key = ("Service".into(), "n".into(), "a".into());
        memory.sent(key.clone(), "h", Some("7"));
        assert_eq!(memory.decide(&key, "h", None), Decision::Wait);
        assert_eq!(memory.decide(&key, "h", Some("7")), Decision::Nothing);
        assert_eq!(memory.decide(&key, "h", None), Decision::Compare, "it was shown, so it was deleted");
        assert_eq!(memory.decide(&key, "i", Some("7")), Decision::Compare);
        memory.forget("n", &["a".into()]);
        assert_eq!(memory.decide(&key, "h", Some("7")), Decision::Compare);
    }
}
