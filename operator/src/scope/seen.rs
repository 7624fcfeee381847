//! Watches RAGEngines and Indexes, and forgets those that were deleted.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use kube::Resource;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use ragengine_operator_api::{Index, RagEngine};

use crate::access_rules::has_filled;
use crate::context::Context;
use crate::names::{Identity, IndexIdentity, Kind, Owner};
use crate::rag_engine::settings::has_modes;
use crate::watches::{Filling, Referred, Wake, Watchable, gone, log_failure, new_or_changed};

/// The number of objects in one reply to a list request.
const PAGE: u32 = 100;

/// A change of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectChange {
    /// The resource is new or changed.
    Seen,
    /// The resource was deleted.
    Gone,
    /// The resource was deleted and another one of the same name exists. State that is kept by name stays.
    Replaced,
}

/// A watch, and the stores and queues that it feeds.
pub(super) struct Watched<K: Resource<DynamicType = ()> + Watchable> {
    pub api: Api<K>,
    pub store: Store<K>,
    pub writer: Writer<K>,
    pub filling: Filling,
    pub context: Arc<Context>,
    pub wake: Wake,
}

type ObjectStream<K> = std::pin::Pin<Box<dyn Stream<Item = Result<K, watcher::Error>> + Send>>;

/// The stream of RAGEngines. A change wakes the Indexes that refer to the RAGEngine.
pub(super) fn engines(watched: Watched<RagEngine>) -> ObjectStream<RagEngine> {
    let known = Arc::clone(&watched.context);
    seen(watched, move |engine: &RagEngine, change| {
        let identity = Identity::of(engine);
        match change {
            ObjectChange::Seen => known.waiting.begins(identity.owner()),
            ObjectChange::Gone => known.forget(&identity),
            ObjectChange::Replaced => known.forget_uid(&identity.uid),
        }
        known.referrers.of(Referred::Engine, &identity.namespace, &identity.name)
    })
}

/// The stream of Indexes. A changed specification or a deletion wakes the other Indexes that fill the same index,
/// because they may have been blocked. A deletion also wakes the engine, which may have to delete documents. An engine
/// whose callers must prove who they are is woken by both, because its server gets the rules of its Indexes, and when
/// an Index has filled its index, because its rules apply from then on.
pub(super) fn indexes(watched: Watched<Index>) -> ObjectStream<Index> {
    let known = Arc::clone(&watched.context);
    let mut filled = HashSet::new();
    seen(watched, move |index: &Index, change| {
        let identity = IndexIdentity::of(index);
        match change {
            ObjectChange::Seen => known.waiting.begins(identity.owner()),
            ObjectChange::Gone => known.forget_index(&identity, index.spec.deletion_policy),
            ObjectChange::Replaced => known.forget_index_uid(&identity.uid, index.spec.deletion_policy),
        }
        let is_observed =
            index.status.as_ref().is_some_and(|status| status.observed_generation == index.metadata.generation);
        let engine = Owner {
            kind: Kind::Engine,
            namespace: identity.namespace.clone(),
            name: index.spec.engine_ref.name.clone(),
        };
        let is_filled = change == ObjectChange::Seen && has_filled(index);
        let has_changed = if is_filled { filled.insert(identity.uid.clone()) } else { filled.remove(&identity.uid) };
        match change {
            ObjectChange::Seen if is_observed && !has_changed => Vec::new(),
            ObjectChange::Seen => {
                let object = ObjectRef::new(&engine.name).within(&engine.namespace);
                let has_rules = known.engine_store.get(&object).is_some_and(|engine| has_modes(&engine.spec));
                let beside = if is_observed { Vec::new() } else { beside(index, &known.index_store) };
                beside.into_iter().chain(has_rules.then_some(engine)).collect()
            }
            ObjectChange::Gone | ObjectChange::Replaced => {
                beside(index, &known.index_store).into_iter().chain([engine]).collect()
            }
        }
    })
}

/// The other Indexes that fill the same index.
fn beside(index: &Index, all: &Store<Index>) -> Vec<Owner> {
    let place = |index: &Index| {
        (index.metadata.namespace.clone(), index.spec.engine_ref.name.clone(), index.index_name().to_owned())
    };
    let others = all.state().into_iter().filter(|other| other.metadata.name != index.metadata.name);
    others.filter(|other| place(other) == place(index)).map(|other| IndexIdentity::of(&other).owner()).collect()
}

fn seen<K>(
    watched: Watched<K>,
    mut follow: impl FnMut(&K, ObjectChange) -> Vec<Owner> + Send + 'static,
) -> ObjectStream<K>
where
    K: Resource<DynamicType = ()> + Watchable,
{
    let Watched { api, store, writer, mut filling, context, wake } = watched;
    let (mut before, mut is_filled) = (Vec::new(), false);
    let mut during_list = Vec::new();
    let seen = watcher(api, watcher::Config::default().page_size(PAGE)).default_backoff().modify(strip);
    let seen = reflector::reflector(writer, seen).filter_map(move |event| {
        let (changed, concerned) = match event {
            Ok(Event::Apply(object)) => {
                let concerned = follow(&object, ObjectChange::Seen);
                (Some(Ok(object)), concerned)
            }
            Ok(Event::InitApply(object)) => {
                let concerned = follow(&object, ObjectChange::Seen);
                during_list.extend(concerned.iter().cloned());
                (Some(Ok(object)), concerned)
            }
            Ok(Event::Delete(object)) => (None, follow(&object, ObjectChange::Gone)),
            Ok(Event::Init) => {
                before = store.state();
                during_list.clear();
                (None, Vec::new())
            }
            Ok(Event::InitDone) => {
                filling.done();
                let before = std::mem::take(&mut before);
                let during_list = std::mem::take(&mut during_list);
                let mut concerned: Vec<Owner> = gone(&before, &store)
                    .flat_map(|object| match store.get(&ObjectRef::from_obj(&**object)) {
                        None => follow(object, ObjectChange::Gone),
                        Some(_) => follow(object, ObjectChange::Replaced),
                    })
                    .collect();
                // The store shows a list only when it is complete, so resources that were reconciled during the list
                // must be reconciled again.
                if std::mem::replace(&mut is_filled, true) {
                    concerned.extend(during_list);
                    for object in new_or_changed(&before, &store) {
                        concerned.extend(follow(&object, ObjectChange::Seen));
                        concerned.push(owner(object.as_ref()));
                    }
                }
                (None, concerned)
            }
            Err(error) => {
                context.metrics.watch_failed(&K::plural(&()));
                log_failure(&K::plural(&()), &error);
                (None, Vec::new())
            }
        };
        let wake = wake.clone();
        async move {
            for owner in &concerned {
                wake.send(owner).await;
            }
            changed
        }
    });
    Box::pin(seen)
}

/// The owner key of a resource.
fn owner<K: Resource<DynamicType = ()>>(object: &K) -> Owner {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let kind = if K::kind(&()) == Index::kind(&()) { Kind::Index } else { Kind::Engine };
    Owner { kind, namespace: part(&object.meta().namespace), name: part(&object.meta().name) }
}

fn strip<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    // This annotation is as long as the object itself and is not used.
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}
