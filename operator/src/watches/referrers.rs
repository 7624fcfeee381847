use std::collections::{BTreeSet, HashMap};

use kube::runtime::reflector::ObjectRef;
use parking_lot::Mutex;

use super::Touched;
use crate::names::Identity;

/// A kind of object that users make and a RAGEngine refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Referred {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
    /// A PersistentVolumeClaim.
    Claim,
}

type Name = (Referred, String);

/// Which RAGEngines refer to what, whether it is there or not.
#[derive(Default)]
pub struct Referrers(Mutex<Index>);

#[derive(Default)]
struct Index {
    /// By namespace and name of what is referred to.
    referrers: HashMap<(String, Name), BTreeSet<String>>,
    /// By namespace and name of the RAGEngine.
    referred: HashMap<(String, String), BTreeSet<Name>>,
}

impl Referrers {
    /// From now on a RAGEngine refers to these, and to nothing else.
    pub fn set(&self, identity: &Identity, referred: BTreeSet<Name>) {
        let mut index = self.0.lock();
        index.forget(&identity.namespace, &identity.name);
        for name in &referred {
            let key = (identity.namespace.clone(), name.clone());
            index.referrers.entry(key).or_default().insert(identity.name.clone());
        }
        index.referred.insert((identity.namespace.clone(), identity.name.clone()), referred);
    }

    /// A RAGEngine is gone.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.0.lock().forget(namespace, name);
    }

    /// Who refers to an object.
    pub fn of(&self, kind: Referred, namespace: &str, name: &str) -> Vec<Touched> {
        let index = self.0.lock();
        let key = (namespace.to_owned(), (kind, name.to_owned()));
        let engines = index.referrers.get(&key).into_iter().flatten();
        engines.map(|engine| ObjectRef::new(engine).within(namespace)).collect()
    }
}

impl Index {
    fn forget(&mut self, namespace: &str, engine: &str) {
        let Some(referred) = self.referred.remove(&(namespace.to_owned(), engine.to_owned())) else { return };
        for name in referred {
            let key = (namespace.to_owned(), name);
            if let Some(engines) = self.referrers.get_mut(&key) {
                engines.remove(engine);
                if engines.is_empty() {
                    self.referrers.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str) -> Identity {
        Identity { namespace: "n".into(), name: name.into(), uid: String::new() }
    }

    fn names(referrers: &Referrers, secret: &str) -> Vec<String> {
        referrers.of(Referred::Secret, "n", secret).into_iter().map(|engine| engine.name).collect()
    }

    #[test]
    fn an_object_wakes_those_that_refer_to_it_now() {
        let referrers = Referrers::default();
        let secret = |name: &str| BTreeSet::from([(Referred::Secret, name.to_owned())]);
        referrers.set(&identity("a"), secret("s"));
        referrers.set(&identity("b"), secret("s"));
        assert_eq!(names(&referrers, "s"), ["a", "b"]);
        assert!(referrers.of(Referred::ConfigMap, "n", "s").is_empty());
        assert!(referrers.of(Referred::Secret, "other", "s").is_empty());
        referrers.set(&identity("a"), secret("t"));
        assert_eq!(names(&referrers, "s"), ["b"]);
        assert_eq!(names(&referrers, "t"), ["a"]);
        referrers.forget("n", "b");
        referrers.forget("n", "a");
        assert!(names(&referrers, "s").is_empty() && referrers.0.lock().referrers.is_empty());
    }
}
