use std::collections::{BTreeSet, HashMap};

use kube::api::ObjectMeta;
use parking_lot::Mutex;

use crate::names::Owner;

/// A kind of object that resources refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Referred {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
    /// A PersistentVolumeClaim.
    Claim,
    /// A RAGEngine (for an Index).
    Engine,
}

/// The version of a referenced object: uid and resource version.
pub fn version(metadata: &ObjectMeta) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&metadata.uid), part(&metadata.resource_version))
}

type Name = (Referred, String);

/// Which resources refer to which objects, existing or not.
#[derive(Default)]
pub struct Referrers(Mutex<Index>);

#[derive(Default)]
struct Index {
    /// The referring resources, by namespace and referenced object.
    referrers: HashMap<(String, Name), BTreeSet<Owner>>,
    /// The referenced objects, by referring resource.
    referred: HashMap<Owner, BTreeSet<Name>>,
}

impl Referrers {
    /// Replaces the references of a resource.
    pub fn set(&self, owner: Owner, referred: BTreeSet<Name>) {
        let mut index = self.0.lock();
        index.forget(&owner);
        for name in &referred {
            let key = (owner.namespace.clone(), name.clone());
            index.referrers.entry(key).or_default().insert(owner.clone());
        }
        index.referred.insert(owner, referred);
    }

    /// Forgets a resource that was deleted.
    pub fn forget(&self, owner: &Owner) {
        self.0.lock().forget(owner);
    }

    /// The resources that refer to an object.
    pub fn of(&self, kind: Referred, namespace: &str, name: &str) -> Vec<Owner> {
        let index = self.0.lock();
        let key = (namespace.to_owned(), (kind, name.to_owned()));
        index.referrers.get(&key).into_iter().flatten().cloned().collect()
    }
}

impl Index {
    fn forget(&mut self, owner: &Owner) {
        let Some(referred) = self.referred.remove(owner) else { return };
        for name in referred {
            let key = (owner.namespace.clone(), name);
            if let Some(owners) = self.referrers.get_mut(&key) {
                owners.remove(owner);
                if owners.is_empty() {
                    self.referrers.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Kind;

    fn owner(name: &str) -> Owner {
        Owner { kind: Kind::Engine, namespace: "n".into(), name: name.into() }
    }

    fn names(referrers: &Referrers, secret: &str) -> Vec<String> {
        referrers.of(Referred::Secret, "n", secret).into_iter().map(|owner| owner.name).collect()
    }

    #[test]
    fn an_object_wakes_the_resources_that_currently_refer_to_it() {
        let referrers = Referrers::default();
        let secret = |name: &str| BTreeSet::from([(Referred::Secret, name.to_owned())]);
        referrers.set(owner("a"), secret("s"));
        referrers.set(owner("b"), secret("s"));
        assert_eq!(names(&referrers, "s"), ["a", "b"]);
        assert!(referrers.of(Referred::ConfigMap, "n", "s").is_empty());
        assert!(referrers.of(Referred::Secret, "other", "s").is_empty());
        referrers.set(owner("a"), secret("t"));
        assert_eq!(names(&referrers, "s"), ["b"]);
        assert_eq!(names(&referrers, "t"), ["a"]);
        referrers.set(Owner { kind: Kind::Index, ..owner("b") }, secret("s"));
        referrers.forget(&owner("b"));
        assert_eq!(names(&referrers, "s"), ["b"], "an Index of the same name is a different resource");
        referrers.forget(&Owner { kind: Kind::Index, ..owner("b") });
        referrers.forget(&owner("a"));
        assert!(names(&referrers, "s").is_empty() && referrers.0.lock().referrers.is_empty());
    }
}
