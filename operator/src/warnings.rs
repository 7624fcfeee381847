//! What Kubernetes warns of: the events of an object that does not get on.

use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::requests::within_limit;

/// More than these are not looked at.
const MAX_EVENTS: u32 = 50;

/// A warning about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The uid of the object.
    pub uid: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
}

/// The warnings about one object, the latest last.
///
/// # Errors
///
/// What the API server says.
pub async fn of(client: &Client, namespace: &str, uid: &str) -> Result<Vec<Warning>, kube::Error> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let about = ListParams::default().fields(&format!("involvedObject.uid={uid},type=Warning")).limit(MAX_EVENTS);
    let mut found = within_limit(events.list(&about)).await?.items;
    found.sort_by_key(|event| event.last_timestamp.clone().or_else(|| event.metadata.creation_timestamp.clone()));
    let warning = |event: Event| Warning {
        uid: uid.to_owned(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
    };
    Ok(found.into_iter().map(warning).collect())
}
