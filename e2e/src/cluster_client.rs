//! Runs the program `cluster-client` in the cluster.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, Pod, SecretKeySelector, SecurityContext};
use kube::Api;
use kube::api::{AttachParams, PostParams};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::forward::Reply;
use crate::namespace::Namespace;
use crate::{Error, pod};

pub use crate::names::CLIENT;

/// The path of the program in its image.
const PROGRAM: &str = "/usr/bin/cluster-client";

/// Sends a GET from another pod.
///
/// # Errors
///
/// When the pod gets no reply.
pub async fn get(namespace: &Namespace, url: &str) -> Result<Reply, Error> {
    request(namespace, &["request", "GET", url], None).await
}

/// Sends a POST from another pod.
///
/// # Errors
///
/// When the pod gets no reply.
pub async fn post(namespace: &Namespace, url: &str, body: &Value) -> Result<Reply, Error> {
    request(namespace, &["request", "POST", url, "--body", &body.to_string()], None).await
}

/// Sends a POST from another pod, with the `token` of a Secret as its bearer token.
///
/// # Errors
///
/// When the pod gets no reply.
pub async fn post_with(namespace: &Namespace, secret: &str, url: &str, body: &Value) -> Result<Reply, Error> {
    request(namespace, &["request", "POST", url, "--body", &body.to_string()], Some(secret)).await
}

async fn request(namespace: &Namespace, arguments: &[&str], secret: Option<&str>) -> Result<Reply, Error> {
    let mut pod = pod::client_pod("request", arguments)?;
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        container.env = secret.map(|secret| vec![token_of(secret)]);
    }
    let printed = pod::run_client(namespace, &pod).await?;
    let status = printed["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    match (status, printed["body"].as_str()) {
        (Some(status), Some(text)) => {
            let request = format!("{} from another pod", arguments[1..3].join(" "));
            Ok(Reply { request, status, text: text.to_owned() })
        }
        _ => Err(Error::Unexpected(format!("cluster-client did not print a reply: {printed}"))),
    }
}

fn token_of(secret: &str) -> EnvVar {
    let token = SecretKeySelector { name: secret.to_owned(), key: "token".to_owned(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(token), ..EnvVarSource::default() };
    EnvVar { name: "BEARER_TOKEN".to_owned(), value: None, value_from: Some(source) }
}

/// Returns the reason if [`kill`] is not possible in a namespace. Asks the cluster with a dry run, without creating a
/// pod.
///
/// # Errors
///
/// When the request to the cluster fails.
pub async fn why_not_kill(namespace: &Namespace) -> Result<Option<String>, Error> {
    let trial = PostParams { dry_run: true, ..PostParams::default() };
    let killer = killer(&Pod::default(), "")?;
    match namespace.api().create(&trial, &killer).await.map_err(Error::kubernetes("asking for a privileged pod")) {
        Ok(_) => Ok(None),
        Err(error) if error.is_forbidden() => Ok(Some(format!("the cluster allows no privileged pods: {error}"))),
        Err(error) => Err(error),
    }
}

/// Kills a program of a pod with SIGKILL, from a privileged pod on the same node.
///
/// # Errors
///
/// When the cluster refuses that pod, or there is not exactly one such process.
pub async fn kill(namespace: &Namespace, victim: &Pod, program: &str) -> Result<(), Error> {
    pod::run_client(namespace, &killer(victim, program)?).await.map(drop)
}

fn killer(victim: &Pod, program: &str) -> Result<Pod, Error> {
    let uid = victim.metadata.uid.as_deref().unwrap_or_default();
    let mut killer = pod::client_pod("kill", &["kill", "--pod-uid", uid, "--program", program])?;
    if let Some(spec) = &mut killer.spec {
        spec.host_pid = Some(true);
        spec.node_name = victim.spec.as_ref().and_then(|spec| spec.node_name.clone());
        spec.security_context = None;
        for container in &mut spec.containers {
            container.security_context = Some(SecurityContext {
                privileged: Some(true),
                read_only_root_filesystem: Some(true),
                run_as_user: Some(0),
                ..SecurityContext::default()
            });
        }
    }
    Ok(killer)
}

/// Fills the file system of a folder in the second container of this pod completely.
///
/// # Errors
///
/// When the command fails.
pub async fn fill(pods: &Api<Pod>, pod: &str, file: &str) -> Result<(), Error> {
    execute(pods, pod, &[PROGRAM, "fill", file]).await
}

/// Removes the file that [`fill`] wrote.
///
/// # Errors
///
/// When the command fails.
pub async fn remove(pods: &Api<Pod>, pod: &str, file: &str) -> Result<(), Error> {
    execute(pods, pod, &[PROGRAM, "remove", file]).await
}

async fn execute(pods: &Api<Pod>, pod: &str, command: &[&str]) -> Result<(), Error> {
    let doing = format!("running {} in {pod}", command.join(" "));
    let parameters = AttachParams { container: Some(CLIENT.to_owned()), ..AttachParams::default() };
    let mut process = pods.exec(pod, command.to_vec(), &parameters).await.map_err(Error::kubernetes(doing.clone()))?;
    let status = process.take_status();
    let (stdout, stderr) = tokio::join!(read(process.stdout()), read(process.stderr()));
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    if status.as_ref().is_some_and(|status| status.status == Some("Success".to_owned())) {
        return Ok(());
    }
    Err(Error::Unexpected(format!(
        "{doing}: {stdout}{stderr}{}",
        status.and_then(|status| status.message).unwrap_or_default()
    )))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = String::new();
    let Some(mut stream) = stream else { return text };
    if let Err(error) = stream.read_to_string(&mut text).await {
        text.push_str(&error.to_string());
    }
    text
}
