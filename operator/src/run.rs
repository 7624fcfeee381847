//! Runs the operator: waits for the lease, watches and reconciles, and ends when it is stopped or loses the lease.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use k8s_openapi::jiff::Timestamp;
use kube::client::ClientBuilder;
use kube::{Client, Config};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::admin::{self, Admin};
use crate::args::Run;
use crate::defaults::{Defaults, NodeLimits};
use crate::gateway::{self, Gateways};
use crate::lease::{Holder, Lost};
use crate::metrics::Metrics;
use crate::openshift::{self, PodUser};
use crate::requests::{ObservedRequests, RequestObserver};
use crate::rollouts::Rollouts;
use crate::scope::{self, Running, Shared};
use crate::server_token::ServerToken;
use crate::watches::Scope;

/// How long to wait for the watches of a namespace before the operator reports ready without it.
const FILLING: Duration = Duration::from_secs(60);

/// How long running reconciles may take to end after a stop.
const GRACE: Duration = Duration::from_secs(15);

/// How long to wait for an API server that does not answer.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Why the operator ends without being stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No cluster is configured.
    #[error("no cluster is configured: {0}. Run in a pod with a ServiceAccount, or set KUBECONFIG")]
    Config(String),
    /// The client of the API server cannot be created.
    #[error("cannot create a client of the API server: {0}")]
    Client(#[source] kube::Error),
    /// The metrics cannot be registered.
    #[error("cannot register the metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The admin server cannot listen on its address.
    #[error("cannot listen on {address}: {source}")]
    Admin {
        /// The address.
        address: std::net::SocketAddr,
        /// The error.
        source: std::io::Error,
    },
    /// The lease was lost.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// Runs until `stop` completes, or until a failure that the operator cannot recover from.
///
/// # Errors
///
/// [`RunError`]. The process must exit after it, because another one may already act.
pub async fn run(arguments: Run, stop: impl Future<Output = ()>) -> Result<(), RunError> {
    let metrics = Arc::new(Metrics::new()?);
    let client = connect(Arc::clone(&metrics) as Arc<dyn RequestObserver>).await?;
    let admin = Admin::new(Arc::clone(&metrics));
    let address = arguments.admin_address;
    let answering = admin::serve(Arc::clone(&admin), address);
    let acting = act(arguments, client, metrics, admin, stop);
    tokio::select! {
        outcome = acting => outcome,
        outcome = answering => outcome.map_err(|source| RunError::Admin { address, source }),
    }
}

/// Creates a client that reports every request to an observer.
///
/// # Errors
///
/// When no cluster is configured, or the client cannot be created.
pub async fn connect(observer: Arc<dyn RequestObserver>) -> Result<Client, RunError> {
    let mut config = Config::infer().await.map_err(|error| RunError::Config(error.to_string()))?;
    // A proxy from the environment is meant for addresses outside the cluster.
    config.proxy_url = None;
    let builder = ClientBuilder::try_from(config).map_err(RunError::Client)?;
    Ok(builder.with_layer(&ObservedRequests::new(observer)).build())
}

async fn act(
    arguments: Run,
    client: Client,
    metrics: Arc<Metrics>,
    admin: Arc<Admin>,
    stop: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let identity = arguments.identity.clone().unwrap_or_else(generated_name);
    let mut lease = Holder::new(&client, &arguments.namespace, &arguments.lease_name, &identity);
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        // A standby is ready when it can read the lease.
        () = lease.acquire(|stands_by| admin.is_ready(stands_by)) => {}
        () = &mut stop => return Ok(()),
    }
    admin.is_ready(false);
    metrics.leads();
    let (stopper, stopped) = watch::channel(false);
    let asked = async {
        let pod_user = until_answered(|| openshift::pod_user(arguments.openshift, &client)).await;
        (pod_user, until_answered(|| gateway::gateways(&client)).await)
    };
    let (pod_user, gateways) = tokio::select! {
        asked = asked => asked,
        lost = lease.keep() => return Err(lost.into()),
        () = &mut stop => {
            lease.release().await;
            return Ok(());
        }
    };
    let shared = Shared { gateways, ..shared(&arguments, client, metrics, identity, pod_user) };
    let (api_server, client) = (Arc::clone(&shared.api_server), shared.client.clone());
    let (cluster_issuer, for_issuer) = (Arc::clone(&shared.cluster_issuer), shared.client.clone());
    tokio::spawn(async move { api_server.run(&client).await });
    tokio::spawn(async move { cluster_issuer.run(&for_issuer).await });
    let running = start(&shared, &scopes(&arguments.watch_namespaces), &stopped, &admin);
    let mut work = tokio::spawn(join_all(running.into_iter().map(Running::run)));
    tokio::select! {
        lost = lease.keep() => return Err(lost.into()),
        () = stop => {}
    }
    info!("stopping: waiting for running reconciles");
    stopper.send_replace(true);
    // The lease must be held while reconciles run.
    tokio::select! {
        _ = &mut work => {}
        () = tokio::time::sleep(GRACE) => {
            warn!(grace_s = GRACE.as_secs(), "running reconciles were aborted because they took too long");
            work.abort();
        }
        lost = lease.keep() => return Err(lost.into()),
    }
    lease.release().await;
    Ok(())
}

/// Asks the API server until it answers: what it says holds until the operator ends.
async fn until_answered<T>(ask: impl AsyncFn() -> Result<T, kube::Error>) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => warn!(%error, "the API server does not say what the cluster has: asking again"),
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

fn start(shared: &Shared, scopes: &[Scope], stopped: &watch::Receiver<bool>, admin: &Arc<Admin>) -> Vec<Running> {
    let running: Vec<Running> = scopes
        .iter()
        .map(|watched| {
            scope::log(watched);
            let mut stopped = stopped.clone();
            scope::start(shared, watched, async move { drop(stopped.wait_for(|stopped| *stopped).await) })
        })
        .collect();
    let gauges: Vec<_> = running.iter().map(Running::gauges).collect();
    admin.also_counts(Box::new(move |metrics| {
        count(metrics, &gauges.iter().map(|gauges| gauges()).collect::<Vec<_>>())
    }));
    let (filled, admin) = (seen_once(&running, scopes), Arc::clone(admin));
    tokio::spawn(async move {
        filled.await;
        admin.is_ready(true);
        info!("all watches are filled: ready");
    });
    running
}

/// Waits until all caches are filled. Of several namespaces one may not exist, and must not block the others.
fn seen_once(running: &[Running], scopes: &[Scope]) -> impl Future<Output = ()> + Send + use<> {
    let filled = running.iter().map(Running::filled).zip(scopes.to_vec()).map(|(filled, scope)| async move {
        let Scope::Namespace(namespace) = scope else { return filled.await };
        let mut filled = std::pin::pin!(filled);
        if tokio::time::timeout(FILLING, &mut filled).await.is_err() {
            warn!(
                namespace,
                "the namespace cannot be watched: check that it exists and that the operator has its Role in it. \
                 The operator keeps trying"
            );
        }
    });
    let all = join_all(filled.collect::<Vec<_>>());
    let first =
        futures_util::future::select_all(running.iter().map(|running| Box::pin(running.filled())).collect::<Vec<_>>());
    async move {
        futures_util::future::join(all, first).await;
    }
}

/// Adds up the figures of all scopes.
fn count(metrics: &Metrics, scopes: &[scope::Gauges]) {
    metrics.queue_is(scopes.iter().map(|scope| scope.waiting).sum());
    let kinds: BTreeSet<&str> = scopes.iter().flat_map(|scope| &scope.objects).map(|(kind, _)| *kind).collect();
    for kind in kinds {
        let of_kind = scopes.iter().flat_map(|scope| &scope.objects).filter(|(found, _)| *found == kind);
        metrics.objects_are(kind, of_kind.map(|(_, count)| count).sum());
    }
    for ready in ["true", "false", "unknown"] {
        let so = scopes.iter().flat_map(|scope| &scope.ready).filter(|(found, _)| *found == ready);
        metrics.rag_engines_are(ready, so.map(|(_, count)| count).sum());
    }
    metrics.degraded_rag_engines_are(scopes.iter().map(|scope| scope.degraded).sum());
    metrics.missed_backups_are(&scopes.iter().flat_map(|scope| scope.missed_backups.clone()).collect::<Vec<_>>());
    let indexes: Vec<_> = scopes.iter().flat_map(|scope| scope.indexes.clone()).collect();
    metrics.indexes_are(&indexes);
}

/// The distinct names in a list. An empty environment variable yields one empty name, which is dropped.
fn named(list: &[String]) -> Vec<String> {
    let names: BTreeSet<&str> = list.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The scopes of a list of namespaces. An empty list means all namespaces.
fn scopes(namespaces: &[String]) -> Vec<Scope> {
    let named = named(namespaces);
    if named.is_empty() {
        return vec![Scope::All];
    }
    named.into_iter().map(Scope::Namespace).collect()
}

fn shared(arguments: &Run, client: Client, metrics: Arc<Metrics>, identity: String, pod_user: PodUser) -> Shared {
    let scopes = u16::try_from(scopes(&arguments.watch_namespaces).len()).unwrap_or(u16::MAX);
    Shared {
        client,
        metrics,
        api_server: Arc::default(),
        cluster_issuer: Arc::default(),
        gateways: Gateways::default(),
        server_token: Arc::new(ServerToken::new(arguments.server_token_file.clone())),
        clock: Arc::new(Timestamp::now),
        identity,
        concurrency: (arguments.concurrency / scopes).max(1),
        defaults: Defaults {
            server_image: arguments.server_image.clone(),
            pod_user,
            rollouts: Rollouts::new(usize::from(arguments.max_rollouts)),
            pull_secrets: named(&arguments.server_image_pull_secrets),
            operator_namespace: arguments.namespace.clone(),
            cluster_domain: arguments.cluster_domain.clone(),
            max_jobs: usize::from(arguments.max_jobs),
            require_secret_hosts: arguments.require_secret_hosts,
            allowed_ranges: arguments.allowed_ranges.clone(),
            account: arguments.service_account.clone(),
            pod_template: arguments.pod_template.iter().copied().collect(),
            node_class: arguments.node_class.clone(),
            node_limits: NodeLimits {
                most: u32::from(arguments.max_nodes),
                instance_types: named(&arguments.instance_types).into_iter().collect(),
            },
        },
    }
}

/// A unique name for a process outside a pod.
fn generated_name() -> String {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => format!("ragengine-operator-{}", hex::encode(bytes)),
        Err(_) => format!("ragengine-operator-{}", std::process::id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_namespace_means_all() {
        let named = |names: &[&str]| scopes(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(named(&[]), [Scope::All]);
        assert_eq!(named(&["", " "]), [Scope::All]);
        assert_eq!(named(&["b", "a", "b"]), [Scope::Namespace("a".into()), Scope::Namespace("b".into())]);
    }
}
