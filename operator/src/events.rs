//! Tells users of changes, in the events of their resources.

use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};
use tracing::warn;

use crate::names::FIELD_MANAGER;
use crate::requests::within_limit;

/// The longest note that Kubernetes takes, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

/// Writes events.
pub struct Events(Recorder);

impl Events {
    /// As the process of this name.
    pub fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter { controller: FIELD_MANAGER.to_owned(), instance: Some(identity.to_owned()) };
        Self(Recorder::new(client, reporter))
    }

    /// Tells what has changed from one status to the next. An event that cannot be written is a line in the log: nothing hangs on it.
    pub async fn publish<K>(&self, about: &K, before: &[Condition], after: &[Condition])
    where
        K: Resource<DynamicType = ()>,
    {
        for event in changes(before, after) {
            if let Err(error) = within_limit(self.0.publish(&event, &about.object_ref(&()))).await {
                warn!(resource = about.meta().name, reason = event.reason, %error, "an event was not written");
            }
        }
    }
}

/// An event for each change that matters: it serves, it stops, something begins, something is wrong.
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
    fn a_change_that_matters_is_told_once() {
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
