use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use ragengine_operator_api::{
    ConditionStatus, ConditionType, RagEngine, RagEngineSpec, Reason, index_definition, rag_engine_definition,
};

const MANAGER: &str = "ragengine-operator-bench";
/// Maximum number of concurrent requests.
const CONCURRENCY: usize = 16;

/// A temporary namespace in the cluster.
pub struct Cluster {
    client: Client,
    namespace: String,
}

impl Cluster {
    /// Connects to the cluster of KUBECONFIG. [`Self::prepare`] creates the namespace.
    pub async fn connect() -> anyhow::Result<Self> {
        ensure!(std::env::var_os("KUBECONFIG").is_some(), "KUBECONFIG is not set; `make bench` sets it");
        let mut config = Config::infer().await?;
        // The cluster is local; a proxy of the environment cannot reach it.
        config.proxy_url = None;
        let name = uuid::Uuid::new_v4().simple().to_string();
        Ok(Self { client: Client::try_from(config)?, namespace: format!("ragengine-bench-{}", &name[..8]) })
    }

    /// Name of the namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    fn engines(&self) -> Api<RagEngine> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates the namespace and applies the definitions of RAGEngine and Index.
    pub async fn prepare(&self) -> anyhow::Result<()> {
        for definition in [rag_engine_definition(), index_definition()] {
            self.define(&definition).await?;
        }
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some(self.namespace.clone()), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    async fn define(&self, definition: &CustomResourceDefinition) -> anyhow::Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = definition.metadata.name.as_deref().context("the definition has no name")?;
        definitions.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(definition)).await?;
        let is_served = kube::runtime::wait::conditions::is_crd_established();
        let served = kube::runtime::wait::await_condition(definitions.clone(), name, is_served);
        tokio::time::timeout(Duration::from_secs(30), served)
            .await
            .with_context(|| format!("the API server does not serve {name}"))??;
        Ok(())
    }

    /// Deletes the namespace with all its objects, and waits until it is gone.
    pub async fn remove(&self) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        match namespaces.delete(&self.namespace, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            deleting => drop(deleting?),
        }
        eprintln!("Deleting the namespace");
        let deadline = Instant::now() + Duration::from_secs(600);
        while namespaces.get_opt(&self.namespace).await?.is_some() {
            ensure!(Instant::now() < deadline, "the namespace {} was not deleted in time", self.namespace);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    /// Creates `count` RAGEngines without replicas.
    pub async fn create_engines(&self, count: usize) -> anyhow::Result<()> {
        let engines = self.engines();
        let requests = stream::iter(0..count).map(|number| {
            let engine = engine(&format!("engine-{number}"), RagEngineSpec { replicas: 0, ..RagEngineSpec::default() });
            let engines = engines.clone();
            async move { engines.create(&PostParams::default(), &engine).await }
        });
        requests.buffer_unordered(CONCURRENCY).try_for_each(|_| std::future::ready(Ok(()))).await?;
        Ok(())
    }

    /// Number of RAGEngines with the reason `Stopped`, for which no further change is expected. The cluster needs some
    /// time for so many Deployments.
    pub async fn stopped(&self) -> anyhow::Result<usize> {
        let engines = self.engines().list(&ListParams::default()).await?;
        let is_stopped = |engine: &&RagEngine| {
            let conditions = engine.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|condition| condition.reason == Reason::Stopped)
        };
        Ok(engines.items.iter().filter(is_stopped).count())
    }

    /// Creates a RAGEngine and returns the seconds until it is Ready. Then deletes it and waits until its pod is gone,
    /// because a small node has no room for two.
    pub async fn seconds_to_ready(&self, name: &str) -> anyhow::Result<f64> {
        let engines = self.engines();
        let applied = Instant::now();
        engines.create(&PostParams::default(), &engine(name, RagEngineSpec::default())).await?;
        while !is_ready(&engines.get(name).await?) {
            ensure!(
                applied.elapsed() < Duration::from_secs(180),
                "{name} was not Ready in time: kubectl describe ragengine {name}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let seconds = applied.elapsed().as_secs_f64();
        engines.delete(name, &DeleteParams::default()).await?;
        self.wait_for_pods_to_end().await?;
        Ok(seconds)
    }

    async fn wait_for_pods_to_end(&self) -> anyhow::Result<()> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        let deadline = Instant::now() + Duration::from_secs(180);
        while !pods.list(&ListParams::default()).await?.items.is_empty() {
            ensure!(Instant::now() < deadline, "the pods of {} were not deleted in time", self.namespace);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}

fn engine(name: &str, spec: RagEngineSpec) -> RagEngine {
    RagEngine::new(name, spec)
}

fn is_ready(engine: &RagEngine) -> bool {
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .any(|condition| condition.type_ == ConditionType::Ready && condition.status == ConditionStatus::True)
}
