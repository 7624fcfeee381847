//! A PostgreSQL server: a pod with a Service. Its password is in a Secret.

use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use serde_json::json;

use crate::namespace::Namespace;
use crate::{Error, cluster, pod};

/// The name of the pod, the Service and the Secret.
pub const POSTGRES: &str = "postgres";

/// The key of the password in the Secret.
const PASSWORD: &str = "POSTGRES_ACCESS_SECRET";

const PORT: u16 = 5432;

/// The superuser, whom the servers connect as.
const USER: &str = "rag";

/// Makes the database, allows connections from other pods, and starts the server. `initdb` itself starts a server
/// without a port, so the port answers only when the database can be used.
const START: &str = "\
set -e
/usr/bin/initdb --pgdata /data/database --pwfile /secret/POSTGRES_ACCESS_SECRET --username rag --auth scram-sha-256 \
--encoding UTF8 --locale C --no-sync
echo 'host all all all scram-sha-256' >>/data/database/pg_hba.conf
exec /usr/bin/postgres -D /data/database -k /data -c 'listen_addresses=*' -c fsync=off -c full_page_writes=off \
-c shared_buffers=16MB";

/// Starts the server, which keeps its data until the pod is deleted. Returns its URL.
///
/// # Errors
///
/// When the cluster refuses, or the pod does not start in time.
pub async fn start(namespace: &Namespace, password: &str) -> Result<String, Error> {
    let labels = json!({"app": POSTGRES});
    let metadata = json!({"name": POSTGRES, "labels": labels});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {PASSWORD: password}});
    namespace.apply::<Secret>(POSTGRES, &secret).await?;
    let container = json!({
        "name": POSTGRES,
        "image": cluster::client_image()?,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", START],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1, "timeoutSeconds": 5},
        "resources": pod::resources("10m", "32Mi", "512Mi"),
        "securityContext": pod::restricted_container(),
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "secret", "mountPath": "/secret"}],
    });
    let server = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [container],
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "securityContext": pod::restricted_pod(),
            "terminationGracePeriodSeconds": 1,
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "secret", "secret": {"secretName": POSTGRES}},
            ],
        },
    });
    namespace.apply::<Pod>(POSTGRES, &server).await?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": labels, "ports": [{"port": PORT}]},
    });
    namespace.apply::<Service>(POSTGRES, &service).await?;
    let is_running = |pod: &Pod| if pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) };
    namespace.until(POSTGRES, "the PostgreSQL server runs", is_running).await?;
    Ok(format!("postgres://{USER}@{}:{PORT}/postgres", namespace.host(POSTGRES)))
}
