//! An Index: applies it, waits for its status, and reads the documents that its engine has.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use ragengine_operator_api::{
    CONFIRM_DELETE_ANNOTATION, Condition, ConditionStatus, ConditionType, Index as Object, IndexStatus, Reason,
    SYNC_ANNOTATION, SourceStatus,
};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::namespace::Namespace;
use crate::{Error, pod, wait};

/// The page sizes for lists of ids and for lists of texts.
const PAGE: usize = 1000;
const LIST: usize = 100;

/// An Index in a namespace.
pub struct Index<'a> {
    namespace: &'a Namespace,
    /// The name of the Index.
    pub name: String,
}

impl<'a> Index<'a> {
    /// Refers to an Index that exists or will exist.
    pub fn named(namespace: &'a Namespace, name: &str) -> Self {
        Self { namespace, name: name.to_owned() }
    }

    /// Applies an Index.
    ///
    /// # Errors
    ///
    /// When the API server refuses.
    pub async fn apply(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        let index = Self::named(namespace, name);
        index.set(spec).await?;
        Ok(index)
    }

    /// Applies an Index and waits until it is synchronised.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or it is not synchronised in time.
    pub async fn start(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        let index = Self::apply(namespace, name, spec).await?;
        index.until_synced().await?;
        Ok(index)
    }

    /// Applies a specification. By default its Jobs reserve few resources, because tests share a small node.
    ///
    /// # Errors
    ///
    /// When the API server refuses.
    pub async fn set(&self, spec: &Value) -> Result<Object, Error> {
        let mut spec = spec.clone();
        if spec.get("resources").is_none() {
            spec["resources"] = json!({"requests": {"cpu": "20m", "memory": "64Mi"}});
        }
        let object = json!({
            "apiVersion": "ragengine.dev/v1alpha1", "kind": "Index", "metadata": {"name": self.name}, "spec": spec,
        });
        self.namespace.apply(&self.name, &object).await
    }

    /// Reads the Index.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub async fn object(&self) -> Result<Object, Error> {
        self.namespace.get(&self.name).await
    }

    /// Requests a synchronisation, and waits until a synchronisation that began after the request has ended.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn sync(&self) -> Result<Object, Error> {
        let value = uuid::Uuid::new_v4().to_string();
        self.annotate(SYNC_ANNOTATION, &value).await?;
        let is_handled =
            |status: &IndexStatus| status.handled.as_ref().and_then(|handled| handled.sync.as_ref()) == Some(&value);
        self.until_status("the requested synchronisation has ended", |index| {
            index.status.as_ref().is_some_and(is_handled)
                && is(index, ConditionType::Progressing, ConditionStatus::False)
        })
        .await
    }

    /// Confirms the deletions that are held back, with the value that the status names.
    ///
    /// # Errors
    ///
    /// When no deletions are held back, or the API server refuses.
    pub async fn confirm_delete(&self) -> Result<(), Error> {
        let last = self.object().await?.status.and_then(|status| status.last_sync);
        let word = last
            .and_then(|last| last.confirmation)
            .ok_or_else(|| Error::Unexpected("no deletions are held back".to_owned()))?;
        self.annotate(CONFIRM_DELETE_ANNOTATION, &word).await
    }

    async fn annotate(&self, annotation: &str, value: &str) -> Result<(), Error> {
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        self.namespace.change::<Object>(&self.name, &patch).await.map(drop)
    }

    /// Waits until the Index is synchronised, for its current specification.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_synced(&self) -> Result<Object, Error> {
        self.until(ConditionType::Ready, ConditionStatus::True, Reason::Synced).await
    }

    /// Waits until a condition has this status and reason, for the current specification.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until(&self, type_: ConditionType, status: ConditionStatus, reason: Reason) -> Result<Object, Error> {
        self.until_status(&format!("{type_:?} is {status:?}, {reason:?}"), |index| {
            let condition = condition(index, type_);
            condition.is_some_and(|condition| (condition.status, condition.reason) == (status, reason))
        })
        .await
    }

    /// Waits until the Index is not Ready for this reason, and returns the message.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_not_ready(&self, reason: Reason) -> Result<String, Error> {
        let index = self.until(ConditionType::Ready, ConditionStatus::False, reason).await?;
        Ok(condition(&index, ConditionType::Ready).map(|condition| condition.message.clone()).unwrap_or_default())
    }

    /// Waits until the operator has observed the current specification, and the Index matches.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_status(&self, wanted: &str, matches: impl Fn(&Object) -> bool) -> Result<Object, Error> {
        let wanted = format!("{}: {wanted}", self.name);
        self.namespace
            .until::<Object, _>(&self.name, &wanted, |index| {
                let observed = index.status.as_ref().and_then(|status| status.observed_generation);
                let is_current = observed == index.metadata.generation;
                if is_current && matches(index) { Ok(index.clone()) } else { Err(describe(index)) }
            })
            .await
    }

    /// Lists its Jobs, oldest first.
    ///
    /// # Errors
    ///
    /// When the request to the cluster fails.
    pub async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let listing = self.namespace.api::<Job>().list(&ListParams::default()).await;
        let jobs = listing.map_err(Error::kubernetes("listing Jobs"))?.items.into_iter();
        let is_its = |job: &Job| {
            let owners = job.metadata.owner_references.iter().flatten();
            owners.into_iter().any(|owner| owner.kind == "Index" && owner.name == self.name)
        };
        let mut jobs: Vec<Job> = jobs.filter(is_its).collect();
        jobs.sort_by_key(|job| job.metadata.creation_timestamp.as_ref().map(|time| time.0));
        Ok(jobs)
    }

    /// Waits for a running pod of its latest Job.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn running_pod(&self) -> Result<Pod, Error> {
        wait::until(&format!("a synchronisation of {} runs", self.name), async || {
            let jobs = self.jobs().await.map_err(|error| error.to_string())?;
            let job = jobs.last().and_then(|job| job.metadata.name.clone()).ok_or("no Job")?;
            let its = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
            let pods = self.namespace.api::<Pod>().list(&its).await.map_err(|error| error.to_string())?.items;
            let seen = pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ");
            pods.into_iter().find(pod::is_ready).ok_or_else(|| format!("{job}: {seen}"))
        })
        .await
    }
}

/// Returns a condition of the Index.
pub fn condition(index: &Object, type_: ConditionType) -> Option<&Condition> {
    index.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether a condition has this status.
pub fn is(index: &Object, type_: ConditionType, status: ConditionStatus) -> bool {
    condition(index, type_).is_some_and(|condition| condition.status == status)
}

/// Returns the status of a source.
pub fn source<'a>(index: &'a Object, name: &str) -> Option<&'a SourceStatus> {
    index.status.as_ref()?.sources.iter().find(|source| source.name == name)
}

/// Lists the paths of a source's documents in an engine. The path of a row ends with `#` and its key.
///
/// # Errors
///
/// When the engine does not answer, or the index does not exist.
pub async fn paths(engine: &Engine<'_>, index: &str, source: &str) -> Result<BTreeSet<String>, Error> {
    let mut connection = engine.connect().await?;
    let mut paths = BTreeSet::new();
    loop {
        let path = format!("/indexes/{index}/sources/{source}/documents?limit={PAGE}&offset={}", paths.len());
        let page = connection.send(hyper::Method::GET, &path, None).await?.ok()?;
        let documents = page["documents"].as_array().cloned().unwrap_or_default();
        for document in &documents {
            let doc_id = document["doc_id"].as_str().unwrap_or_default();
            let below = doc_id.strip_prefix(source).and_then(|rest| rest.strip_prefix('/'));
            let below = below.ok_or_else(|| Error::Unexpected(format!("{doc_id} is not a document of {source}")))?;
            paths.insert(below.to_owned());
        }
        if documents.len() < PAGE {
            return Ok(paths);
        }
    }
}

/// Reads the texts of all documents of an index, by id.
///
/// # Errors
///
/// When the engine does not answer, or the index does not exist.
pub async fn texts(engine: &Engine<'_>, index: &str) -> Result<BTreeMap<String, String>, Error> {
    let mut connection = engine.connect().await?;
    let mut texts = BTreeMap::new();
    loop {
        let path = format!("/indexes/{index}/documents?limit={LIST}&offset={}&max_text_length=10000", texts.len());
        let page = connection.send(hyper::Method::GET, &path, None).await?.ok()?;
        let documents = page["documents"].as_array().cloned().unwrap_or_default();
        let text = |document: &Value, field: &str| document[field].as_str().unwrap_or_default().to_owned();
        texts.extend(documents.iter().map(|document| (text(document, "doc_id"), text(document, "text"))));
        if documents.len() < LIST {
            return Ok(texts);
        }
    }
}

/// Reads the metrics of an engine.
///
/// # Errors
///
/// When the engine does not answer.
pub async fn engine_metrics(engine: &Engine<'_>) -> Result<Metrics, Error> {
    Ok(Metrics::parse(&engine.get("/metrics").await?.text))
}

/// The number of texts that an engine has embedded for its indexes.
pub fn embedded_texts(metrics: &Metrics) -> f64 {
    metrics.sum("ragengine_embedding_texts_total", &[("purpose", "passage")])
}

/// Creates a set of paths, to compare with [`paths`].
pub fn set<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> BTreeSet<String> {
    paths.into_iter().map(Into::into).collect()
}

/// Describes the status in one line.
fn describe(index: &Object) -> String {
    let status = index.status.clone().unwrap_or_default();
    let conditions = status.conditions.iter().map(|condition| {
        let Condition { type_, status, reason, message, .. } = condition;
        format!("{type_:?} {status:?} {reason:?}: {message}")
    });
    let generations = format!("generation {:?}, observed {:?}", index.metadata.generation, status.observed_generation);
    let last = format!(
        "done {:?} of {:?}, attempts {}, last {:?}",
        status.done, status.total, status.attempts, status.last_sync
    );
    std::iter::once(generations).chain(conditions).chain([last]).collect::<Vec<_>>().join("; ")
}
