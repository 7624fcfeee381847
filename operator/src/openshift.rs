//! Whose users the pods run as: OpenShift chooses one for each namespace, and refuses a pod that asks for another.

use clap::ValueEnum;
use kube::Client;
use tracing::{info, warn};

use crate::requests::within_limit;

/// The API group that only OpenShift has.
const GROUP: &str = "security.openshift.io";

/// Whether the cluster is an OpenShift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpenShift {
    /// The cluster is asked, once.
    Auto,
    /// It is.
    True,
    /// It is not, or its pods may run as any user.
    False,
}

/// Whose user the pods run as, and whose group the files of volumes get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PodUser {
    /// That of the image.
    #[default]
    OfImage,
    /// One that the cluster gives to the namespace.
    OfNamespace,
}

/// Finds out whose users the pods run as. A cluster that does not answer is taken for no OpenShift.
pub async fn pod_user(setting: OpenShift, client: &Client) -> PodUser {
    let is_openshift = match setting {
        OpenShift::True => true,
        OpenShift::False => false,
        OpenShift::Auto => has_group(client).await,
    };
    if is_openshift { PodUser::OfNamespace } else { PodUser::OfImage }
}

async fn has_group(client: &Client) -> bool {
    match within_limit(client.list_api_groups()).await {
        Ok(found) => {
            let is_there = found.groups.iter().any(|group| group.name == GROUP);
            info!(group = GROUP, is_there, "the cluster was asked for its API groups");
            is_there
        }
        Err(error) => {
            warn!(group = GROUP, %error, "the cluster's API groups cannot be read: it is taken for no OpenShift, which --openshift can say too");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    /// A cluster that answers any request so.
    fn cluster(code: u16, answer: &'static str) -> Client {
        let service = tower::service_fn(move |_: Request<kube::client::Body>| async move {
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn the_cluster_is_asked_unless_it_is_told() {
        let groups = |name: &str| {
            let version = r#"{"groupVersion": "a/v1", "version": "v1"}"#;
            let list = format!(
                r#"{{"groups": [{{"name": "apps", "versions": [{version}]}}, {{"name": "{name}", "versions": [{version}]}}]}}"#
            );
            cluster(200, list.leak())
        };
        let with = groups("security.openshift.io");
        let without = groups("security.example");
        let broken = cluster(503, "{}");
        for (setting, client, expected) in [
            (OpenShift::Auto, &with, PodUser::OfNamespace),
            (OpenShift::Auto, &without, PodUser::OfImage),
            (OpenShift::Auto, &broken, PodUser::OfImage),
            (OpenShift::True, &without, PodUser::OfNamespace),
            (OpenShift::False, &with, PodUser::OfImage),
        ] {
            assert_eq!(pod_user(setting, client).await, expected, "{setting:?}");
        }
    }
}
