//! Publishes changes of conditions as Kubernetes events.

use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};
use tracing::warn;

use crate::names::FIELD_MANAGER;
use crate::requests::within_limit;

/// The maximum length of an event's note in Kubernetes, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

/// Publishes events.
pub struct Events(Recorder);

impl Events {
    /// `identity` is the name of this process, which Kubernetes shows with each event.
    pub fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter { controller: FIELD_MANAGER.to_owned(), instance: Some(identity.to_owned()) };
        Self(Recorder::new(client, reporter))
    }

    /// Publishes an event for each relevant change between two statuses. A failure is only logged, because nothing
    /// depends on events.
    pub async fn publish<K>(&self, resource: &K, before: &[Condition], after: &[Condition])
    where
        K: Resource<DynamicType = ()>,
    {
        for event in changes(before, after) {
            if let Err(error) = within_limit(self.0.publish(&event, &resource.object_ref(&()))).await {
                let name = &resource.meta().name;
                warn!(resource = name, reason = event.reason, %error, "an event could not be published");
            }
        }
    }
}

/// The relevant changes: the resource becomes ready, a change starts, it stops, or a problem appears.
fn changes(before: &[Condition], after: &[Condition]) -> Vec<Event> {
    after.iter().filter_map(|now| change(before.iter().find(|condition| condition.type_ == now.type_), now)).collect()
}

fn change(before: Option<&Condition>, now: &Condition) -> Option<Event> {
    let is_same = before.is_some_and(|before| before.status == now.status && before.reason == now.reason);
    if is_same {
        return None;
    }
    let holds = now.status == ConditionStatus::True;
    let type_ = match (now.type_, holds) {
        (ConditionType::Ready | ConditionType::Progressing, true) => EventType::Normal,
        (ConditionType::Ready, false) if matches!(now.reason, Reason::Stopped | Reason::Suspended) => EventType::Normal,
        (ConditionType::Degraded, true) => EventType::Warning,
        _ => return None,
    };
    Some(Event {
        type_,
        reason: format!("{:?}", now.reason),
        note: Some(shortened(&now.message)),
        action: "Reconcile".to_owned(),
        secondary: None,
    })
}

fn shortened(text: &str) -> String {
    let end = (0..=MAX_NOTE_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn condition(type_: ConditionType, status: ConditionStatus, reason: Reason) -> Condition {
        let message = "é".repeat(2000);
        Condition {
            type_,
            status,
            reason,
            message,
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        }
    }

    #[test]
    fn a_relevant_change_becomes_one_event() {
        let serving = condition(ConditionType::Ready, ConditionStatus::True, Reason::Serving);
        let crashing = condition(ConditionType::Degraded, ConditionStatus::True, Reason::PodCrashing);
        let full = condition(ConditionType::Degraded, ConditionStatus::True, Reason::VolumeFull);
        let well = condition(ConditionType::Degraded, ConditionStatus::False, Reason::AsExpected);
        let reasons = |before: Option<&Condition>, after: &Condition| {
            let (before, after) = (before.map_or(&[][..], std::slice::from_ref), std::slice::from_ref(after));
            changes(before, after).into_iter().map(|event| event.reason).collect::<Vec<_>>()
        };
        assert_eq!(reasons(None, &serving), ["Serving"]);
        assert!(reasons(None, &well).is_empty());
        assert!(reasons(Some(&serving), &serving).is_empty());
        let suspended = condition(ConditionType::Ready, ConditionStatus::False, Reason::Suspended);
        assert_eq!(reasons(Some(&serving), &suspended), ["Suspended"]);
        assert_eq!(reasons(Some(&well), &crashing), ["PodCrashing"]);
        assert_eq!(reasons(Some(&crashing), &full), ["VolumeFull"]);
        assert!(reasons(Some(&full), &well).is_empty());
        let note = changes(&[], &[serving]).remove(0).note.unwrap();
        assert!(note.len() <= MAX_NOTE_BYTES && note.len() > MAX_NOTE_BYTES - 2);
    }
}
