//! Delays events about objects whose content version has a resolution of one second.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use kube::Resource;
use kube::runtime::watcher::{self, Event};
use ragengine_operator_api::RagEngine;
use tokio::time::{Instant, sleep_until};

/// All writes within one second have the same version, because Kubernetes records the time of a write in whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// The maximum number of delayed events. Further events wait in the connection.
const MAX_HELD_BACK: usize = 1024;

/// Delays each change by a second. Then the second of the write is over, so no later write can have the same version,
/// and an action that this version triggers reads the latest content. Listed objects pass at once, but the end of the
/// list is delayed.
pub(super) fn settled<K: Resource + Send + 'static>(
    seen: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static {
    let held_back = seen.map(|event| {
        let until = is_held_back(&event).then(|| Instant::now() + SECOND);
        async move {
            if let Some(until) = until {
                sleep_until(until).await;
            }
            event
        }
    });
    held_back.buffered(MAX_HELD_BACK)
}

fn is_held_back<K: Resource>(event: &watcher::Result<Event<K>>) -> bool {
    match event {
        // The operator writes its own objects only once.
        Ok(Event::Apply(object)) => !is_an_engines(object),
        Ok(Event::InitDone) => true,
        // A deletion triggers no read of the content. It still stays behind earlier events.
        Ok(Event::Delete(_) | Event::Init | Event::InitApply(_)) | Err(_) => false,
    }
}

fn is_an_engines<K: Resource>(object: &K) -> bool {
    let mut owners = object.meta().owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.kind == RagEngine::kind(&()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::{ObjectMeta, PartialObjectMeta};
    use tokio::sync::mpsc;
    use tokio::time::advance;

    use super::*;
    use crate::names::Identity;

    const HALF: Duration = Duration::from_millis(500);

    type Seen = PartialObjectMeta<Secret>;
    type Shown = std::pin::Pin<Box<dyn Stream<Item = watcher::Result<Event<Seen>>>>>;

    fn secret(name: &str) -> Seen {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        PartialObjectMeta { metadata, ..PartialObjectMeta::default() }
    }

    fn pair() -> (mpsc::UnboundedSender<Event<Seen>>, Shown) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let events = futures_util::stream::unfold(receiver, async |mut receiver: mpsc::UnboundedReceiver<_>| {
            Some((Ok(receiver.recv().await?), receiver))
        });
        (sender, Box::pin(settled(events)))
    }

    /// The next event that has passed: kind and name.
    fn next(shown: &mut Shown) -> Option<String> {
        let name = |object: Seen| object.metadata.name.unwrap_or_default();
        Some(match shown.next().now_or_never()??.unwrap() {
            Event::Apply(object) => format!("changed {}", name(object)),
            Event::Delete(object) => format!("gone {}", name(object)),
            Event::InitApply(object) => format!("listed {}", name(object)),
            Event::Init => "a list begins".to_owned(),
            Event::InitDone => "it ends".to_owned(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_delayed_by_a_second_and_stay_in_order() {
        let (sender, mut shown) = pair();
        sender.send(Event::Apply(secret("a"))).unwrap();
        assert_eq!(next(&mut shown), None, "the second of the write is not over");
        advance(HALF).await;
        sender.send(Event::Apply(secret("b"))).unwrap();
        sender.send(Event::Delete(secret("b"))).unwrap();
        assert_eq!(next(&mut shown), None);
        advance(HALF).await;
        assert_eq!(next(&mut shown).as_deref(), Some("changed a"));
        assert_eq!(next(&mut shown), None, "events stay in order");
        advance(HALF).await;
        assert_eq!(next(&mut shown).as_deref(), Some("changed b"));
        assert_eq!(next(&mut shown).as_deref(), Some("gone b"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_operators_own_objects_pass_at_once() {
        let (sender, mut shown) = pair();
        let mut token = secret("docs-write");
        let identity = Identity { namespace: "n".to_owned(), name: "docs".to_owned(), uid: "u".to_owned() };
        token.metadata.owner_references = identity.owned("docs-write").owner_references;
        sender.send(Event::Apply(token)).unwrap();
        assert_eq!(next(&mut shown).as_deref(), Some("changed docs-write"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_delayed_by_one_second_in_total() {
        let (sender, mut shown) = pair();
        sender.send(Event::Init).unwrap();
        for _ in 0..50 {
            sender.send(Event::InitApply(secret("a"))).unwrap();
        }
        sender.send(Event::InitDone).unwrap();
        assert_eq!(next(&mut shown).as_deref(), Some("a list begins"));
        for _ in 0..50 {
            assert_eq!(next(&mut shown).as_deref(), Some("listed a"));
        }
        assert_eq!(next(&mut shown), None);
        advance(2 * HALF).await;
        assert_eq!(next(&mut shown).as_deref(), Some("it ends"));
    }
}
