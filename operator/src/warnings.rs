//! Reads the warning events of an object that is stuck.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ListParams};
use tracing::warn;

use crate::requests::within_limit;

/// The maximum number of events that are read.
const MAX_EVENTS: u32 = 50;

/// The minimum and maximum interval between two reads of events.
const LOOKS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// A warning event about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The uid of the object.
    pub uid: String,
    /// The machine-readable reason.
    pub reason: String,
    /// The message.
    pub message: String,
}

/// The warnings about one object, the most recent last. They are only for messages: none if they cannot be read.
pub async fn of(client: &Client, namespace: &str, uid: &str) -> Vec<Warning> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let about = ListParams::default().fields(&format!("involvedObject.uid={uid},type=Warning")).limit(MAX_EVENTS);
    let mut found = match within_limit(events.list(&about)).await {
        Ok(found) => found.items,
        Err(error) => {
            warn!(namespace, pod_uid = uid, %error, "events of a pod not read: the status does not say why it is stuck");
            return Vec::new();
        }
    };
    found.sort_by_key(|event| event.last_timestamp.clone().or_else(|| event.metadata.creation_timestamp.clone()));
    let warning = |event: Event| Warning {
        uid: uid.to_owned(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
    };
    found.into_iter().map(warning).collect()
}

/// The time until events are read again. Events are not watched, and are read less often the longer the object has been
/// stuck.
pub fn next_look(since: Timestamp, now: Timestamp) -> Duration {
    let waited = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    (waited / 4).clamp(LOOKS.0, LOOKS.1)
}
