//! Wakes the engines that a change of a NodeClaim concerns, and all engines with a machine type when NodeClaims appear in
//! the cluster or disappear from it. The reconciles read the NodeClaims themselves. Deletes those without an engine.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use kube::Resource as _;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::{self, Event, watcher};
use ragengine_operator_api::RagEngine;
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use super::orphans::{Made, Orphans};
use super::{NodeClaim, is_served};
use crate::context::Context;
use crate::names::{Identity, NODE_OF};
use crate::rag_engine::nodes::{is_held, wants};
use crate::watches::{Scope, Wake, log_failure};

/// How often the operator asks whether the cluster has NodeClaims.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// The number of objects in one reply to a list request.
const PAGE: u32 = 100;

type Claims = Pin<Box<dyn Stream<Item = watcher::Result<Event<NodeClaim>>> + Send>>;

/// Runs as long as the controllers of a scope. Without a node class there is nothing to follow.
pub(crate) async fn follow(context: Arc<Context>, scope: Scope, wake: Wake) {
    if context.defaults.node_class.is_none() {
        return;
    }
    let mut ask = tokio::time::interval(ASK_AGAIN);
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut claims, mut seen, mut was_served): (Option<Claims>, Seen, Option<bool>) = Default::default();
    let mut orphans = Orphans::default();
    loop {
        tokio::select! {
            _ = ask.tick() => match is_served(&context.client).await {
                Ok(is_served) if was_served != Some(is_served) => {
                    info!(is_served, "whether the cluster has NodeClaims of Karpenter");
                    was_served = Some(is_served);
                    (claims, seen) = (is_served.then(|| watch(&context)), Seen::default());
                    wake_all(&context, &wake).await;
                }
                Ok(true) => orphans.delete(&context.client, seen.without_engine(&context, &scope)).await,
                Ok(false) => {}
                Err(error) => warn!(%error, "the API server does not say whether the cluster has NodeClaims"),
            },
            event = next(&mut claims) => {
                if let Err(error) = &event {
                    let resource = NodeClaim::plural(&());
                    context.metrics.watch_failed(&resource);
                    log_failure(&resource, error);
                }
                for engine in event.map(|event| seen.concerned(event)).unwrap_or_default() {
                    // An engine of another operator, or one that is gone.
                    if known(&context, &engine).is_some() {
                        wake.send(&engine.owner()).await;
                    }
                }
            }
        }
    }
}

/// The engine of this name, which may be another one by now.
fn known(context: &Context, engine: &Identity) -> Option<Arc<RagEngine>> {
    context.engine_store.get(&ObjectRef::<RagEngine>::new(&engine.name).within(&engine.namespace))
}

fn watch(context: &Context) -> Claims {
    let config = watcher::Config::default().labels(NODE_OF).page_size(PAGE);
    Box::pin(watcher(Api::all(context.client.clone()), config).default_backoff())
}

/// The next event. Without a watch there is never one.
async fn next(claims: &mut Option<Claims>) -> watcher::Result<Event<NodeClaim>> {
    if let Some(stream) = claims
        && let Some(event) = stream.next().await
    {
        return event;
    }
    std::future::pending().await
}

async fn wake_all(context: &Context, wake: &Wake) {
    for engine in context.engine_store.state().into_iter().filter(|engine| wants(&engine.spec) || is_held(engine)) {
        wake.send(&Identity::of(&engine).owner()).await;
    }
}

/// What was seen of each NodeClaim, by name.
#[derive(Default)]
struct Seen {
    claims: HashMap<String, SeenClaim>,
    before: HashMap<String, SeenClaim>,
}

#[derive(Clone, PartialEq)]
struct SeenClaim {
    engine: Option<Identity>,
    uid: Option<String>,
    is_going: bool,
    /// A hash of what its engine's status depends on. Karpenter changes other fields whenever a pod of the node changes.
    hash: u64,
}

impl Seen {
    /// The engines that an event concerns.
    fn concerned(&mut self, event: Event<NodeClaim>) -> Vec<Identity> {
        match event {
            Event::Init => {
                self.before = std::mem::take(&mut self.claims);
                Vec::new()
            }
            Event::InitApply(claim) | Event::Apply(claim) => self.saw(&claim).into_iter().collect(),
            Event::Delete(claim) => self.claims.remove(claim.name()).and_then(|seen| seen.engine).into_iter().collect(),
            Event::InitDone => std::mem::take(&mut self.before).into_values().filter_map(|seen| seen.engine).collect(),
        }
    }

    fn saw(&mut self, claim: &NodeClaim) -> Option<Identity> {
        let mut hasher = DefaultHasher::new();
        claim.status.hash(&mut hasher);
        let now = SeenClaim {
            engine: Identity::of_node_claim(&claim.metadata),
            uid: claim.metadata.uid.clone(),
            is_going: claim.is_going(),
            hash: hasher.finish(),
        };
        let before = self.before.remove(claim.name());
        let before = self.claims.insert(claim.name().to_owned(), now.clone()).or(before);
        if before.as_ref() == Some(&now) { None } else { now.engine }
    }

    /// The NodeClaims of this scope whose engine is not known.
    fn without_engine(&self, context: &Context, scope: &Scope) -> Vec<Made> {
        let made = |(name, seen): (&String, &SeenClaim)| {
            let (engine, uid) = (seen.engine.clone()?, seen.uid.clone()?);
            let is_known =
                known(context, &engine).is_some_and(|known| known.metadata.uid.as_ref() == Some(&engine.uid));
            let is_orphan = !seen.is_going && !is_known && scope.has(&engine.namespace);
            is_orphan.then(|| Made { name: name.clone(), uid, engine })
        };
        self.claims.iter().filter_map(made).collect()
    }
}

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;
    use serde_json::json;

    use super::*;

    fn claim(name: &str, ready: &str, pods: u32) -> NodeClaim {
        let identity = Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
        let metadata = ObjectMeta { labels: Some(identity.node_labels()), ..ObjectMeta::default() };
        let status = json!({"conditions": [{"type": "Ready", "status": ready}], "lastPodEventTime": pods.to_string()});
        let claim = json!({"metadata": metadata, "status": status});
        let mut claim: NodeClaim = serde_json::from_value(claim).unwrap();
        claim.metadata.name = Some(name.to_owned());
        claim
    }

    #[test]
    fn only_what_the_status_depends_on_wakes_an_engine() {
        let mut seen = Seen::default();
        let mut woken = |event| seen.concerned(event).len();
        assert_eq!(woken(Event::Init), 0);
        assert_eq!(woken(Event::InitApply(claim("a", "Unknown", 1))), 1, "it may have changed before the watch");
        assert_eq!(woken(Event::InitDone), 0);
        assert_eq!(woken(Event::Apply(claim("a", "Unknown", 2))), 0, "a pod has started there");
        assert_eq!(woken(Event::Apply(claim("a", "True", 2))), 1);
        assert_eq!(woken(Event::Apply(claim("b", "True", 2))), 1);
        // The watch is restarted. One has disappeared in between.
        assert_eq!(woken(Event::Init), 0);
        assert_eq!(woken(Event::InitApply(claim("b", "True", 3))), 0);
        assert_eq!(woken(Event::InitDone), 1);
        assert_eq!(woken(Event::Delete(claim("b", "True", 3))), 1);
    }
}
