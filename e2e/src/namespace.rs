//! A namespace for each test. It is created before the test and deleted after it. When the test fails, its content is
//! printed.

mod objects;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use futures_util::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
pub use objects::Object;
use serde_json::json;

use crate::names::OPERATOR;
use crate::{Error, cluster, diagnosis, skip, turns, wait};

/// The time limit of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(600);

/// The label of all namespaces of tests. `kubectl delete namespace --selector` with it deletes the namespaces of
/// interrupted runs.
const TEST_LABEL: &str = "ragengine.io/e2e-test";

/// If set, the namespaces of failed tests are kept.
const KEEP: &str = "RAGENGINE_E2E_KEEP";

/// Set when no other run uses this cluster. Then the objects of interrupted runs are deleted before the first test,
/// because they use resources of the node, and their operators interfere with the tests.
const SWEEP: &str = "RAGENGINE_E2E_SWEEP";

/// The pods that a namespace allows. The levels are those of
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodSecurity {
    /// Only hardened pods, like the namespace of a user.
    Restricted,
    /// All pods, for actions on the node.
    Privileged,
}

/// A namespace of a running test.
#[derive(Clone)]
pub struct Namespace {
    /// A client of the cluster.
    pub client: Client,
    /// The unique name of the namespace.
    pub name: String,
    /// The name prefix of all namespaces of one test run.
    run: String,
}

impl Namespace {
    /// Creates another namespace for the same test. It is deleted with the first one.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn beside(&self, purpose: &str, level: PodSecurity) -> Result<Self, Error> {
        Self::create(self.client.clone(), &self.run, &format!("{}-{purpose}", self.run), level).await
    }

    /// Deletes the namespace without waiting until it is gone.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn delete_itself(&self) -> Result<(), Error> {
        let namespaces = Api::<NamespaceObject>::all(self.client.clone());
        let deleting = namespaces.delete(&self.name, &DeleteParams::background()).await;
        deleting.map(drop).map_err(Error::kubernetes(format!("deleting the namespace {}", self.name)))
    }

    async fn create(client: Client, run: &str, name: &str, level: PodSecurity) -> Result<Self, Error> {
        let level = match level {
            PodSecurity::Restricted => "restricted",
            PodSecurity::Privileged => "privileged",
        };
        let labels = [(TEST_LABEL, run), ("pod-security.kubernetes.io/enforce", level)];
        let object = NamespaceObject {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(BTreeMap::from(labels.map(|(key, value)| (key.to_owned(), value.to_owned())))),
                ..ObjectMeta::default()
            },
            ..NamespaceObject::default()
        };
        let doing = Error::kubernetes(format!("creating the namespace {name}"));
        Api::all(client.clone()).create(&PostParams::default(), &object).await.map_err(doing)?;
        let namespace = Self { client, name: name.to_owned(), run: run.to_owned() };
        // Pods are refused until the service account exists.
        let accounts = namespace.api::<ServiceAccount>();
        wait::until_object(&accounts, "default", &format!("the service account of {name}"), |_| Ok(())).await?;
        Ok(namespace)
    }

    /// The API of the objects of one kind in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// The fully qualified name of a Service. A shorter name may be resolved by an external DNS while the cluster's DNS
    /// does not have the Service yet. If that DNS resolves every name, another server answers.
    pub fn host(&self, service: &str) -> String {
        format!("{service}.{}.svc.cluster.local", self.name)
    }
}

/// Runs a test in its own namespace, which allows only `restricted` pods. Other tests may run at the same time. The
/// test is skipped if this machine lacks a requirement.
///
/// # Panics
///
/// When the test panics, returns an error, or takes more than ten minutes. The content of the namespace is printed
/// first.
pub async fn in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let _turn = turns::beside_others().await.unwrap_or_else(|error| panic!("{error}"));
    run_in_namespace(test, body).await;
}

/// Runs a test like [`in_namespace`], but alone, because it acts on the whole cluster.
///
/// # Panics
///
/// As [`in_namespace`] does.
pub async fn alone_in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let _turn = turns::alone().await.unwrap_or_else(|error| panic!("{error}"));
    run_in_namespace(test, body).await;
}

async fn run_in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let run = format!("ragengine-{test}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
    let client = cluster::connect().await.unwrap_or_else(|error| panic!("{error}"));
    turns::once_in_run("sweep", async || sweep(&client).await).await.unwrap_or_else(|error| panic!("{error}"));
    let outcome = AssertUnwindSafe(tokio::time::timeout(TEST_TIMEOUT, async {
        let namespace = Namespace::create(client.clone(), &run, &run, PodSecurity::Restricted).await?;
        body(&namespace).await
    }));
    let outcome = outcome.catch_unwind().await;
    let passed = matches!(outcome, Ok(Ok(Ok(()) | Err(Error::Lacking(_)))));
    // Said before the content of the namespace, which is long. A panic has printed its message.
    if let Ok(Ok(Err(error))) = &outcome
        && !passed
    {
        diagnosis::say(&format!("the test {test} failed: {error}"));
    }
    if let Err(error) = end(&client, &run, passed).await {
        diagnosis::say(&format!("the namespaces of {run} may still exist: {error}"));
    }
    match outcome {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(Error::Lacking(what)))) => skip::skip(test, &what),
        Ok(Ok(Err(error))) => panic!("{error}"),
        Ok(Err(_)) => panic!("the test took more than {} s", TEST_TIMEOUT.as_secs()),
        Err(panic) => resume_unwind(panic),
    }
}

/// Deletes the objects of interrupted runs, and waits until they are gone. Errors are printed and do not stop the
/// tests.
async fn sweep(client: &Client) -> Result<(), Error> {
    if std::env::var_os(SWEEP).is_none() {
        return Ok(());
    }
    let sweeping = async {
        for name in namespaces_with(client, TEST_LABEL).await? {
            remove(client, &name).await?;
        }
        wait::until("the objects of interrupted runs are gone", async || {
            let left = namespaces_with(client, TEST_LABEL).await.map_err(|error| error.to_string())?;
            if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
        })
        .await
    };
    if let Err(error) = sweeping.await {
        diagnosis::say(&format!("the objects of interrupted runs still exist: {error}"));
    }
    Ok(())
}

/// Lists the names of the namespaces with a label.
async fn namespaces_with(client: &Client, selector: &str) -> Result<Vec<String>, Error> {
    let namespaces = Api::<NamespaceObject>::all(client.clone());
    let found = namespaces.list(&ListParams::default().labels(selector)).await;
    let found = found.map_err(Error::kubernetes("listing the namespaces of tests"))?;
    Ok(found.items.into_iter().filter_map(|object| object.metadata.name).collect())
}

/// Prints the content of the namespaces of a failed test, and deletes them without waiting.
async fn end(client: &Client, run: &str, passed: bool) -> Result<(), Error> {
    for name in namespaces_with(client, &format!("{TEST_LABEL}={run}")).await? {
        if !passed {
            diagnosis::print(client, &name).await;
        }
        if !passed && std::env::var_os(KEEP).is_some() {
            diagnosis::say(&format!("{KEEP} is set: the namespace {name} is kept"));
            continue;
        }
        remove(client, &name).await?;
    }
    Ok(())
}

/// Deletes the namespace and the cluster-wide objects of a test, without waiting.
async fn remove(client: &Client, name: &str) -> Result<(), Error> {
    remove_roles(client, name).await?;
    let released = release_pods(client, name).await;
    let deleted = Api::<NamespaceObject>::all(client.clone()).delete(name, &DeleteParams::background()).await;
    match deleted {
        // It is being deleted already.
        Err(kube::Error::Api(status)) if status.is_conflict() => {}
        deleted => unless_gone(name, deleted.map(drop))?,
    }
    released
}

/// Deletes the cluster-wide objects of an operator in this namespace. Without an operator there are none.
async fn remove_roles(client: &Client, namespace: &str) -> Result<(), Error> {
    let name = format!("{OPERATOR}-{namespace}");
    let binding = Api::<ClusterRoleBinding>::all(client.clone()).delete(&name, &DeleteParams::background()).await;
    let role = Api::<ClusterRole>::all(client.clone()).delete(&name, &DeleteParams::background()).await;
    unless_gone(&name, binding.map(drop))?;
    unless_gone(&name, role.map(drop))
}

/// Removes the finalizers of pods of a failed test, because they block the deletion of the namespace.
async fn release_pods(client: &Client, namespace: &str) -> Result<(), Error> {
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    for name in with_finalizers(&pods).await? {
        remove_finalizers(&pods, &name).await?;
    }
    Ok(())
}

/// Lists the names of objects that have finalizers. If their definition is missing, there are none.
async fn with_finalizers<K: Object>(objects: &Api<K>) -> Result<Vec<String>, Error> {
    let found = match objects.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Vec::new()),
        found => found.map_err(Error::kubernetes("listing objects with finalizers"))?,
    };
    let held = found.items.into_iter().filter(|object| object.meta().finalizers.is_some());
    Ok(held.filter_map(|object| object.meta().name.clone()).collect())
}

async fn remove_finalizers<K: Object>(objects: &Api<K>, name: &str) -> Result<(), Error> {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    unless_gone(name, objects.patch(name, &PatchParams::default(), &patch).await.map(drop))
}

fn unless_gone(name: &str, done: Result<(), kube::Error>) -> Result<(), Error> {
    match done {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => done.map_err(Error::kubernetes(format!("deleting {name}"))),
    }
}
