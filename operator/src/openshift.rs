//! Which users pods run as. OpenShift chooses one for each namespace, and rejects pods that ask for another.

use clap::ValueEnum;
use kube::Client;
use tracing::{info, warn};

use crate::requests::{is_answer, within_limit};

/// An API group that only OpenShift has.
const GROUP: &str = "security.openshift.io";

/// Whether the cluster is OpenShift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpenShift {
    /// Detect it from the API groups, once.
    Auto,
    /// It is OpenShift.
    True,
    /// It is not, or its pods may run as any user.
    False,
}

/// The user that pods run as, and the group of the files on volumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PodUser {
    /// The user of the image.
    #[default]
    OfImage,
    /// A user that the cluster assigns to the namespace.
    OfNamespace,
}

/// Determines which users pods run as. If the API groups may not be read, the cluster is treated as not OpenShift.
///
/// # Errors
///
/// If the API server does not answer. Another user would restart every pod, and OpenShift would refuse them.
pub async fn pod_user(setting: OpenShift, client: &Client) -> Result<PodUser, kube::Error> {
    let is_openshift = match setting {
        OpenShift::True => true,
        OpenShift::False => false,
        OpenShift::Auto => has_group(client).await?,
    };
    Ok(if is_openshift { PodUser::OfNamespace } else { PodUser::OfImage })
}

async fn has_group(client: &Client) -> Result<bool, kube::Error> {
    match within_limit(client.list_api_groups()).await {
        Ok(found) => {
            let is_there = found.groups.iter().any(|group| group.name == GROUP);
            info!(group = GROUP, is_there, "checked whether the cluster is OpenShift");
            Ok(is_there)
        }
        Err(error) if is_answer(&error) => {
            warn!(
                group = GROUP, %error,
                "the cluster's API groups cannot be read: assuming that it is not OpenShift. Set --openshift otherwise"
            );
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    /// A cluster that gives this answer to every request.
    fn cluster(code: u16, answer: &'static str) -> Client {
        let service = tower::service_fn(move |_: Request<kube::client::Body>| async move {
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn openshift_is_detected_unless_it_is_set() {
        let groups = |name: &str| {
            let version = r#"{"groupVersion": "a/v1", "version": "v1"}"#;
            let list = format!(
                r#"{{"groups": [
                    {{"name": "apps", "versions": [{version}]}}, {{"name": "{name}", "versions": [{version}]}}
                ]}}"#
            );
            cluster(200, list.leak())
        };
        let with = groups("security.openshift.io");
        let without = groups("security.example");
        let broken = cluster(503, "{}");
        let forbidden = cluster(403, r#"{"kind": "Status", "status": "Failure", "message": "m", "code": 403}"#);
        for (setting, client, expected) in [
            (OpenShift::Auto, &with, Some(PodUser::OfNamespace)),
            (OpenShift::Auto, &without, Some(PodUser::OfImage)),
            (OpenShift::Auto, &forbidden, Some(PodUser::OfImage)),
            (OpenShift::Auto, &broken, None),
            (OpenShift::True, &broken, Some(PodUser::OfNamespace)),
            (OpenShift::False, &with, Some(PodUser::OfImage)),
        ] {
            assert_eq!(pod_user(setting, client).await.ok(), expected, "{setting:?}");
        }
    }
}
