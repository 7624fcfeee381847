//! A namespace for each test: made before it, deleted after it, and when it failed first shown.

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
use tokio::sync::{OnceCell, RwLock};

use crate::names::OPERATOR;
use crate::{Error, cluster, diagnosis, skip, wait};

/// How long a test may take before it is a failed one.
const TEST_TIMEOUT: Duration = Duration::from_secs(600);

/// The label of every namespace of a test. `kubectl delete namespace --selector` with it deletes what an interrupted run has left.
const TEST_LABEL: &str = "ragengine.io/e2e-test";

/// Set, it keeps the namespaces of tests that failed.
const KEEP: &str = "RAGENGINE_E2E_KEEP";

/// Set by who knows that nobody else tests on this cluster: what an interrupted run has left is removed before the first test. It would take room on the
/// node, and its operators would look after objects that nobody waits for.
const SWEEP: &str = "RAGENGINE_E2E_SWEEP";

/// Whether that was done.
static SWEPT: OnceCell<()> = OnceCell::const_new();

/// Most tests run beside others. One that acts on the whole cluster runs alone.
static CLUSTER: RwLock<()> = RwLock::const_new(());

/// Which pods a namespace takes: the levels of <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodSecurity {
    /// Hardened ones only, as a user's namespace may have it.
    Restricted,
    /// All, for what acts as the node.
    Privileged,
}

/// A namespace of a running test.
#[derive(Clone)]
pub struct Namespace {
    /// A client of its cluster.
    pub client: Client,
    /// Its name, which no other has.
    pub name: String,
    /// The name that all namespaces of one run of a test have in common.
    run: String,
}

impl Namespace {
    /// Another namespace for the same test. It ends with the first one.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn beside(&self, purpose: &str, level: PodSecurity) -> Result<Self, Error> {
        Self::create(self.client.clone(), &self.run, &format!("{}-{purpose}", self.run), level).await
    }

    /// Deletes it, and does not wait for its end.
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
        // Until it is there every pod is refused.
        let accounts = namespace.api::<ServiceAccount>();
        wait::until_object(&accounts, "default", &format!("the service account of {name}"), |_| Ok(())).await?;
        Ok(namespace)
    }

    /// Its objects of a kind.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// The whole name of a Service in it. With a shorter one, a pod that asks before the cluster's DNS has the Service asks the DNS outside,
    /// and where that knows every name, somebody else answers.
    pub fn host(&self, service: &str) -> String {
        format!("{service}.{}.svc.cluster.local", self.name)
    }
}

/// Runs a test in a namespace of its own, which takes `restricted` pods only, beside other tests. One that this machine lacks something for is skipped.
///
/// # Panics
///
/// When the test does, when it returns an error, and when it takes more than ten minutes. Before that it prints what is in the namespace.
pub async fn in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let _beside_others = CLUSTER.read().await;
    run_in_namespace(test, body).await;
}

/// The same, for a test that acts on the whole cluster: no other test runs meanwhile.
///
/// # Panics
///
/// As [`in_namespace`] does.
pub async fn alone_in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let _alone = CLUSTER.write().await;
    run_in_namespace(test, body).await;
}

async fn run_in_namespace(test: &str, body: impl AsyncFnOnce(&Namespace) -> Result<(), Error>) {
    let run = format!("ragengine-{test}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
    let client = cluster::connect().await.unwrap_or_else(|error| panic!("{error}"));
    SWEPT.get_or_init(|| sweep(&client)).await;
    let outcome = AssertUnwindSafe(tokio::time::timeout(TEST_TIMEOUT, async {
        let namespace = Namespace::create(client.clone(), &run, &run, PodSecurity::Restricted).await?;
        body(&namespace).await
    }));
    let outcome = outcome.catch_unwind().await;
    let passed = matches!(outcome, Ok(Ok(Ok(()) | Err(Error::Lacking(_)))));
    if let Err(error) = end(&client, &run, passed).await {
        diagnosis::say(&format!("the namespaces of {run} may be left: {error}"));
    }
    match outcome {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(Error::Lacking(what)))) => skip::skip(test, &what),
        Ok(Ok(Err(error))) => panic!("{error}"),
        Ok(Err(_)) => panic!("the test took more than {} s", TEST_TIMEOUT.as_secs()),
        Err(panic) => resume_unwind(panic),
    }
}

/// Removes what an interrupted run has left, and waits for its end. The tests begin in any case: it may be in nobody's way.
async fn sweep(client: &Client) {
    if std::env::var_os(SWEEP).is_none() {
        return;
    }
    let sweeping = async {
        for name in namespaces_with(client, TEST_LABEL).await? {
            remove(client, &name).await?;
        }
        wait::until("the end of what an interrupted run has left", async || {
            let left = namespaces_with(client, TEST_LABEL).await.map_err(|error| error.to_string())?;
            if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
        })
        .await
    };
    if let Err(error) = sweeping.await {
        diagnosis::say(&format!("what an interrupted run has left is still there: {error}"));
    }
}

/// The names of the namespaces that a selector selects.
async fn namespaces_with(client: &Client, selector: &str) -> Result<Vec<String>, Error> {
    let namespaces = Api::<NamespaceObject>::all(client.clone());
    let found = namespaces.list(&ListParams::default().labels(selector)).await;
    let found = found.map_err(Error::kubernetes("listing the namespaces of tests"))?;
    Ok(found.items.into_iter().filter_map(|object| object.metadata.name).collect())
}

/// Shows the namespaces of a test that failed, and deletes them without waiting for their end.
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

/// Deletes the namespace of a test with what belongs to it, and does not wait for its end.
async fn remove(client: &Client, name: &str) -> Result<(), Error> {
    remove_roles(client, name).await?;
    let released = let_go(client, name).await;
    let deleted = Api::<NamespaceObject>::all(client.clone()).delete(name, &DeleteParams::background()).await;
    match deleted {
        // It is being deleted already.
        Err(kube::Error::Api(status)) if status.is_conflict() => {}
        deleted => unless_gone(name, deleted.map(drop))?,
    }
    released
}

/// What the release of an operator in this namespace has for the whole cluster. Without an operator there is nothing of that name.
async fn remove_roles(client: &Client, namespace: &str) -> Result<(), Error> {
    let name = format!("{OPERATOR}-{namespace}");
    let binding = Api::<ClusterRoleBinding>::all(client.clone()).delete(&name, &DeleteParams::background()).await;
    let role = Api::<ClusterRole>::all(client.clone()).delete(&name, &DeleteParams::background()).await;
    unless_gone(&name, binding.map(drop))?;
    unless_gone(&name, role.map(drop))
}

/// A namespace does not end before what has finalizers does: pods of a test that failed.
async fn let_go(client: &Client, namespace: &str) -> Result<(), Error> {
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    for name in held(&pods).await? {
        remove_finalizers(&pods, &name).await?;
    }
    Ok(())
}

/// The names of objects that have finalizers. A cluster without their definition has none.
async fn held<K: Object>(objects: &Api<K>) -> Result<Vec<String>, Error> {
    let found = match objects.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Vec::new()),
        found => found.map_err(Error::kubernetes("listing what the test has left"))?,
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
        done => done.map_err(Error::kubernetes(format!("letting go of {name}"))),
    }
}
