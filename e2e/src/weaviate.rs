//! Nodes of Weaviate: a pod for each, and a Service for all. Their key is in a Secret.

use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use serde_json::{Value, json};

use crate::namespace::Namespace;
use crate::{Error, cluster, cluster_client, pod};

/// The name of the Service, the Secret and the program. Names of the pods begin with it.
pub const WEAVIATE: &str = "weaviate";

/// The key of the API key in the Secret.
const KEY: &str = "VECTOR_DB_ACCESS_SECRET";
const API_KEY: &str = "a-key-of-weaviate";

const PORT: u16 = 8080;
/// The nodes find each other here.
const GOSSIP_PORT: u16 = 7946;
/// The nodes exchange objects here. It has to be the next port.
const DATA_PORT: u16 = 7947;
/// The nodes agree on the classes here, and on the next port.
const RAFT_PORT: u16 = 8300;

/// Running nodes in a namespace.
pub struct Weaviate<'a> {
    namespace: &'a Namespace,
}

impl<'a> Weaviate<'a> {
    /// Starts so many nodes. A node keeps its data until its pod is deleted: its program may be killed.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or they are not ready in time.
    pub async fn start(namespace: &'a Namespace, count: usize) -> Result<Self, Error> {
        let nodes = Self { namespace };
        let metadata = json!({"name": WEAVIATE});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {KEY: API_KEY}});
        namespace.apply::<Secret>(WEAVIATE, &secret).await?;
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app": WEAVIATE}, "ports": [{"port": PORT}]},
        });
        namespace.apply::<Service>(WEAVIATE, &service).await?;
        namespace.apply::<Pod>(&name(0), &node(0, count, None)?).await?;
        // The others join the first one when they start, and end if they cannot.
        let address = namespace.until(&name(0), "the first node of Weaviate can be joined", address_to_join).await?;
        for number in 1..count {
            namespace.apply::<Pod>(&name(number), &node(number, count, Some(&address))?).await?;
        }
        for number in 0..count {
            nodes.until_ready(number, 0).await?;
        }
        Ok(nodes)
    }

    /// The URL in the cluster, of all nodes that are ready.
    pub fn url(&self) -> String {
        format!("http://{}:{PORT}", self.namespace.host(WEAVIATE))
    }

    /// Kills a node with SIGKILL from a namespace that allows privileged pods, and waits until it is back with its
    /// data. Nothing lets the first node join again, so it must be another.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the node is not ready in time.
    pub async fn kill(&self, privileged: &Namespace, number: usize) -> Result<(), Error> {
        let victim = self.namespace.get::<Pod>(&name(number)).await?;
        let restarts = pod::container_status(&victim, WEAVIATE).map_or(0, |status| status.restart_count);
        cluster_client::kill(privileged, &victim, WEAVIATE).await?;
        self.until_ready(number, restarts + 1).await
    }

    async fn until_ready(&self, number: usize, restarts: i32) -> Result<(), Error> {
        let wanted = format!("node {number} of Weaviate is ready after at least {restarts} restarts");
        self.namespace
            .until(&name(number), &wanted, |pod: &Pod| {
                let status = pod::container_status(pod, WEAVIATE);
                let has_restarted = status.is_some_and(|status| status.restart_count >= restarts);
                if has_restarted && pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) }
            })
            .await
    }
}

fn name(number: usize) -> String {
    format!("{WEAVIATE}-{number}")
}

/// The address of the gossip of a node whose startup probe has succeeded.
fn address_to_join(pod: &Pod) -> Result<String, String> {
    let has_started = pod::container_status(pod, WEAVIATE).and_then(|status| status.started) == Some(true);
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_ref());
    match address {
        Some(address) if has_started => Ok(format!("{address}:{GOSSIP_PORT}")),
        _ => Err(pod::describe(pod)),
    }
}

/// A node of a cluster with this number of nodes. All but the first join at an address.
fn node(number: usize, count: usize, join: Option<&str>) -> Result<Value, Error> {
    let container = json!({
        "name": WEAVIATE,
        "image": cluster::client_image()?,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/bin/weaviate", "--host", "0.0.0.0", "--scheme", "http", "--port", PORT.to_string()],
        "workingDir": "/data",
        "env": environment(number, count, join),
        "startupProbe": {"tcpSocket": {"port": GOSSIP_PORT}, "periodSeconds": 1, "failureThreshold": 120},
        "readinessProbe": {
            "httpGet": {"path": "/v1/.well-known/ready", "port": PORT}, "periodSeconds": 1, "timeoutSeconds": 5,
        },
        "resources": pod::resources("50m", "128Mi", "768Mi"),
        "securityContext": pod::restricted_container(),
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    Ok(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name(number), "labels": {"app": WEAVIATE}},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [container],
            "enableServiceLinks": false,
            "restartPolicy": "Always",
            "securityContext": pod::restricted_pod(),
            "terminationGracePeriodSeconds": 1,
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }))
}

fn environment(number: usize, count: usize, join: Option<&str>) -> Vec<Value> {
    let mut variables = vec![
        json!({"name": "AUTHENTICATION_APIKEY_ALLOWED_KEYS",
               "valueFrom": {"secretKeyRef": {"name": WEAVIATE, "key": KEY}}}),
        json!({"name": "CLUSTER_ADVERTISE_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
    ];
    let mut set = |name: &str, value: &str| variables.push(json!({"name": name, "value": value}));
    for (name, value) in [
        ("PERSISTENCE_DATA_PATH", "/data/weaviate"),
        ("TMPDIR", "/data"),
        ("AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED", "false"),
        ("AUTHENTICATION_APIKEY_ENABLED", "true"),
        ("AUTHENTICATION_APIKEY_USERS", "tests"),
        ("DEFAULT_VECTORIZER_MODULE", "none"),
        ("AUTOSCHEMA_ENABLED", "false"),
        ("DISABLE_TELEMETRY", "true"),
        ("GO_PROFILING_DISABLE", "true"),
        ("LOG_LEVEL", "warning"),
        // The disk of the cluster's node may be nearly full.
        ("DISK_USE_WARNING_PERCENTAGE", "0"),
        ("DISK_USE_READONLY_PERCENTAGE", "0"),
        ("CLUSTER_HOSTNAME", &name(number)),
        ("CLUSTER_GOSSIP_BIND_PORT", &GOSSIP_PORT.to_string()),
        ("CLUSTER_DATA_BIND_PORT", &DATA_PORT.to_string()),
        ("RAFT_PORT", &RAFT_PORT.to_string()),
        ("RAFT_INTERNAL_RPC_PORT", &(RAFT_PORT + 1).to_string()),
    ] {
        set(name, value);
    }
    if count > 1 {
        let members: Vec<String> = (0..count).map(|number| format!("{}:{RAFT_PORT}", name(number))).collect();
        set("RAFT_JOIN", &members.join(","));
        set("RAFT_BOOTSTRAP_EXPECT", &count.to_string());
    }
    if let Some(address) = join {
        set("CLUSTER_JOIN", address);
    }
    variables
}
