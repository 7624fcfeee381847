//! Prints the content of the namespace of a failed test.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolumeClaim, Pod, Service};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use ragengine_operator_api::{Index, RagEngine};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The number of lines that are printed of each log, from its end.
const LOG_LINES: i64 = 200;

/// Prints objects, events and logs. Errors are printed too, because they must not hide why the test failed.
pub async fn print(client: &Client, namespace: &str) {
    say(&format!("==== namespace {namespace}"));
    print_objects::<RagEngine>(client, namespace).await;
    print_objects::<Index>(client, namespace).await;
    print_objects::<Deployment>(client, namespace).await;
    print_objects::<Service>(client, namespace).await;
    print_objects::<ConfigMap>(client, namespace).await;
    print_objects::<PersistentVolumeClaim>(client, namespace).await;
    print_objects::<Job>(client, namespace).await;
    print_objects::<Pod>(client, namespace).await;
    print_events(&Api::namespaced(client.clone(), namespace)).await;
    print_logs(&Api::namespaced(client.clone(), namespace)).await;
    say(&format!("==== end of namespace {namespace}"));
}

/// Prints to the output of the test, which is shown when the test fails.
#[expect(clippy::print_stdout, reason = "the test program captures this output and shows it with the test")]
pub fn say(text: &str) {
    println!("{text}");
}

async fn print_objects<K>(client: &Client, namespace: &str)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
{
    let objects = match Api::<K>::namespaced(client.clone(), namespace).list(&ListParams::default()).await {
        Ok(objects) => objects,
        Err(error) => return say(&format!("---- {}: {error}", K::kind(&()))),
    };
    // Kubernetes creates this ConfigMap in every namespace.
    for mut object in objects.items.into_iter().filter(|object| object.name_any() != "kube-root-ca.crt") {
        object.meta_mut().managed_fields = None;
        let text = serde_saphyr::to_string(&object).unwrap_or_else(|error| error.to_string());
        say(&format!("---- {} {}\n{text}", K::kind(&()), object.name_any()));
    }
}

async fn print_events(events: &Api<Event>) {
    say("---- events");
    let mut events = match events.list(&ListParams::default()).await {
        Ok(events) => events.items,
        Err(error) => return say(&error.to_string()),
    };
    events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
    for event in events {
        let object = event.involved_object;
        say(&format!(
            "{} {} {}/{} {}: {} (seen {})",
            event
                .last_timestamp
                .or(event.metadata.creation_timestamp)
                .map(|time| time.0.to_string())
                .unwrap_or_default(),
            event.type_.unwrap_or_default(),
            object.kind.unwrap_or_default(),
            object.name.unwrap_or_default(),
            event.reason.unwrap_or_default(),
            event.message.unwrap_or_default(),
            event.count.unwrap_or(1),
        ));
    }
}

async fn print_logs(pods: &Api<Pod>) {
    let list = match pods.list(&ListParams::default()).await {
        Ok(list) => list.items,
        Err(error) => return say(&format!("---- logs: {error}")),
    };
    for pod in list {
        for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
            print_log(pods, &pod.name_any(), &container.name, false).await;
            let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
            if statuses.into_iter().any(|status| status.name == container.name && status.restart_count > 0) {
                print_log(pods, &pod.name_any(), &container.name, true).await;
            }
        }
    }
}

async fn print_log(pods: &Api<Pod>, pod: &str, container: &str, previous: bool) {
    let parameters = LogParams {
        container: Some(container.to_owned()),
        previous,
        tail_lines: Some(LOG_LINES),
        ..LogParams::default()
    };
    let which = if previous { "log before the restart" } else { "log" };
    let text = pods.logs(pod, &parameters).await.unwrap_or_else(|error| error.to_string());
    say(&format!("---- {which} of {container} in {pod}\n{text}"));
}
