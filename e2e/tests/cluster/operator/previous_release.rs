//! An upgrade from the previous release, with data.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use ragengine_e2e::changes::Changes;
use ragengine_e2e::definition::{self, HelmOwnership};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::helm::image_values;
use ragengine_e2e::index::{self, Index, embedded_texts, engine_metrics, texts};
use ragengine_e2e::namespace::{Namespace, alone_in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::previous::Previous;
use ragengine_e2e::server::{documents, retrieval};
use ragengine_e2e::source::Files;
use ragengine_e2e::{Error, cluster, pod, wait};
use ragengine_operator_api::{
    ConditionStatus, ConditionType, INDEX_FINALIZER, Index as Object, LastSync, Reason, SyncResult,
};
use serde_json::{Value, json};

const PASSWORD: &str = "the-password-of-the-pages";
const PLUTO: &str = "Pluto is small.";

/// An index that is filled through the API, and its document.
const NOTES: (&str, (&str, &str)) = ("notes", ("lunch", "Lunch is served at half past twelve in the garden."));
/// A suspended Index. The active ones have inline documents with a schedule, a ConfigMap, and a page that needs a
/// Secret.
const SUSPENDED: &str = "suspended";
const ACTIVE: [&str; 3] = ["planets", "moons", "pages"];

/// Upgrades like a user of the previous release. Runs alone, because the definitions are cluster-wide.
#[tokio::test]
async fn the_previous_release_is_upgraded_with_its_data_and_nothing_is_embedded_again() {
    alone_in_namespace("previous", async |namespace| {
        let previous = Previous::find()?;
        let client = &namespace.client;
        let mut operator = Operator::prepare(namespace, &json!({"crds": {"install": true}})).await?;
        let marks = HelmOwnership::read(client).await?;
        let outcome = AssertUnwindSafe(async {
            definition::replace(client, previous.definitions()?).await?;
            install(&previous, &mut operator).await?;
            let engine = fill(namespace).await?;
            let before = EngineContent::by(&engine).await?;
            let last = last_syncs(namespace).await?;

            upgrade(&operator).await?;
            assert_definitions_are_current(namespace).await?;
            until_current_server_is_ready(&engine).await?;
            until_in_step(namespace, &engine, &last).await?;
            assert_eq!(EngineContent::by(&engine).await?, before);
            assert_eq!(embedded_texts(&engine_metrics(&engine).await?), 0.0, "nothing is embedded again");
            ask(&engine).await?;
            use_on(namespace, &engine).await
        });
        let outcome = outcome.catch_unwind().await;
        // The definitions are not deleted with the namespace.
        drop(operator.release.uninstall().await);
        definition::install_again(client).await?;
        marks.restore(client).await?;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
    .await;
}

async fn install(previous: &Previous, operator: &mut Operator) -> Result<(), Error> {
    operator.set(&json!({
        "image": image_values(&previous.operator_image)?,
        "serverImage": image_values(&previous.server_image)?,
    }));
    operator.release.install_and_take_over_from(&previous.chart, &operator.values()).await?;
    operator.until_available().await
}

async fn upgrade(operator: &Operator) -> Result<(), Error> {
    let images = json!({
        "image": image_values(&cluster::operator_image()?)?,
        "serverImage": image_values(&cluster::server_image()?)?,
    });
    operator.release.upgrade_and_keep_values(&images).await?;
    operator.until_available().await
}

/// Creates an engine with a volume, and documents from every kind of source.
async fn fill(namespace: &Namespace) -> Result<Engine<'_>, Error> {
    let files = Files::start(namespace, Some(PASSWORD)).await?;
    files.change(&Changes::texts([("sun.md", "The sun is a star.")])).await?;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pages"}, "stringData": {"token": PASSWORD}});
    namespace.apply::<Secret>("pages", &secret).await?;
    let moons = json!({"io.md": "Io has volcanoes.", "titan.md": "Titan has lakes."});
    let moons = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "moons"}, "data": moons});
    namespace.apply::<ConfigMap>("moons", &moons).await?;

    let spec = json!({
        "storage": {"persistentVolume": {"size": "1Gi"}},
        "auth": {"writes": "open"},
        "retrieval": {"maxDistance": 1.1},
    });
    let engine = Engine::start(namespace, "docs", &spec).await?;
    engine.post("/index", &documents(NOTES.0, &[NOTES.1])).await?.ok()?;
    let page = json!({"name": "here", "http": {"urls": [files.url("sun.md")], "accessSecret": "pages"}});
    Index::start(namespace, "planets", &planets(&[])).await?;
    Index::start(namespace, "moons", &of(json!({"name": "here", "configMap": {"name": "moons"}}))).await?;
    Index::start(namespace, "pages", &of(page)).await?;
    let index = Index::start(namespace, SUSPENDED, &suspended(false)).await?;
    index.set(&suspended(true)).await?;
    let resting = index.until(ConditionType::Progressing, ConditionStatus::False, Reason::Suspended).await?;
    assert!(is_held(&resting), "the previous release sets a finalizer");
    Ok(engine)
}

fn of(source: Value) -> Value {
    json!({"engineRef": {"name": "docs"}, "sources": [source]})
}

fn inline(texts: &[(&str, &str)]) -> Value {
    let documents: Vec<Value> = texts.iter().map(|(path, text)| json!({"path": path, "text": text})).collect();
    of(json!({"name": "here", "inline": {"documents": documents}}))
}

fn planets(more: &[(&str, &str)]) -> Value {
    let texts = [&[("mars.md", "Mars is red."), ("venus.md", "Venus is hot.")], more].concat();
    let mut spec = inline(&texts);
    // One night of the year, so that the schedule does not start a synchronisation during the test.
    spec["schedule"] = json!("0 0 1 1 *");
    spec
}

fn suspended(is_suspended: bool) -> Value {
    let mut spec = inline(&[("comet.md", "A comet has a tail.")]);
    spec["suspend"] = json!(is_suspended);
    spec
}

fn is_held(index: &Object) -> bool {
    index.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == INDEX_FINALIZER)
}

/// The content of an engine.
#[derive(Debug, PartialEq)]
struct EngineContent {
    data_id: Value,
    documents: Value,
    chunks: Value,
    texts: BTreeMap<String, BTreeMap<String, String>>,
}

impl EngineContent {
    async fn by(engine: &Engine<'_>) -> Result<Self, Error> {
        let status = engine.get("/status").await?.ok()?;
        let mut held = BTreeMap::new();
        for index in ACTIVE.into_iter().chain([SUSPENDED, NOTES.0]) {
            held.insert(index.to_owned(), texts(engine, index).await?);
        }
        assert!(status["data_id"].is_string() && held.values().all(|texts| !texts.is_empty()), "{status} {held:?}");
        let field = |name: &str| status[name].clone();
        Ok(Self { data_id: field("data_id"), documents: field("documents"), chunks: field("chunks"), texts: held })
    }
}

async fn last_syncs(namespace: &Namespace) -> Result<BTreeMap<&'static str, LastSync>, Error> {
    let mut last = BTreeMap::new();
    for name in ACTIVE.into_iter().chain([SUSPENDED]) {
        let status = Index::named(namespace, name).object().await?.status.unwrap();
        last.insert(name, status.last_sync.unwrap());
    }
    Ok(last)
}

async fn assert_definitions_are_current(namespace: &Namespace) -> Result<(), Error> {
    let found = definition::read(&namespace.client).await?;
    let previous = Previous::find()?.definitions()?;
    for ((found, today), previous) in found.into_iter().zip(definition::current()).zip(previous) {
        let name = found.metadata.name.unwrap_or_default();
        let schemas = [found.spec.versions, today.spec.versions, previous.spec.versions]
            .map(|versions| versions.into_iter().map(|version| version.schema).collect::<Vec<_>>());
        assert_eq!(json!(schemas[0]), json!(schemas[1]), "{name}");
        assert_ne!(schemas[0], schemas[2], "{name} differs from that of the previous release");
    }
    Ok(())
}

async fn until_current_server_is_ready(engine: &Engine<'_>) -> Result<(), Error> {
    let image = cluster::server_image()?;
    let runs_it = |pod: &Pod| {
        pod.spec.iter().flat_map(|spec| &spec.containers).any(|container| container.image.as_ref() == Some(&image))
    };
    engine.pod_that("the engine runs the current server", |pod| runs_it(pod) && pod::is_ready(pod)).await?;
    engine.until_ready().await.map(drop)
}

/// Waits until this release has synchronised every active Index, no Index has a finalizer, and the engine knows the
/// owners of its documents.
async fn until_in_step(
    namespace: &Namespace,
    engine: &Engine<'_>,
    last: &BTreeMap<&str, LastSync>,
) -> Result<(), Error> {
    for name in ACTIVE {
        let is_done = |index: &Object| {
            let sync = index.status.as_ref().and_then(|status| status.last_sync.as_ref());
            sync.is_some_and(|sync| sync.id != last[name].id) && !is_held(index) && has_no_trouble(index)
        };
        let index = Index::named(namespace, name).until_status("it is synchronised by this release", is_done).await?;
        let sync = index.status.unwrap().last_sync.unwrap();
        assert_eq!((sync.result, sync.message), (SyncResult::Succeeded, None), "{name}");
    }
    let index = Index::named(namespace, SUSPENDED);
    let resting = index.until_status("it has no finalizer", |index| !is_held(index) && has_no_trouble(index)).await?;
    assert_eq!(resting.status.unwrap().last_sync.unwrap().id, last[SUSPENDED].id, "it is not synchronised");
    until_owners(engine, &ACTIVE).await
}

fn has_no_trouble(index: &Object) -> bool {
    index::is(index, ConditionType::Ready, ConditionStatus::True)
        && index::is(index, ConditionType::Progressing, ConditionStatus::False)
        && index::is(index, ConditionType::Degraded, ConditionStatus::False)
}

async fn until_owners(engine: &Engine<'_>, names: &[&str]) -> Result<(), Error> {
    let wanted = index::set(names.iter().copied());
    wait::until(&format!("the engine has documents of {names:?} alone"), async || {
        let status = engine.get("/status").await.and_then(|reply| reply.ok()).map_err(|error| error.to_string())?;
        let owners = status["owners"].as_array().cloned().unwrap_or_default();
        let found = index::set(owners.iter().map(|owner| owner["name"].as_str().unwrap_or_default()));
        if found == wanted { Ok(()) } else { Err(status.to_string()) }
    })
    .await
}

/// Asserts that documents of every source are found.
async fn ask(engine: &Engine<'_>) -> Result<(), Error> {
    for (index, question, text) in [
        (NOTES.0, "When is lunch served?", NOTES.1.1),
        ("planets", "Which planet is red?", "Mars is red."),
        ("moons", "Which moon has lakes?", "Titan has lakes."),
        ("pages", "What is the sun?", "The sun is a star."),
        (SUSPENDED, "What has a tail?", "A comet has a tail."),
    ] {
        let found = engine.post("/retrieve", &retrieval(index, question)).await?.ok()?;
        assert_eq!(found["results"][0]["text"], text, "{index}: {found}");
    }
    Ok(())
}

/// Changes, resumes and deletes Indexes of the previous release.
async fn use_on(namespace: &Namespace, engine: &Engine<'_>) -> Result<(), Error> {
    let planets = Index::named(namespace, "planets");
    planets.set(&self::planets(&[("pluto.md", PLUTO)])).await?;
    planets.until_synced().await?;
    assert!(texts(engine, "planets").await?.values().any(|text| text == PLUTO));
    assert_eq!(embedded_texts(&engine_metrics(engine).await?), 1.0, "only what is new is embedded");

    let resumed = Index::named(namespace, SUSPENDED);
    resumed.set(&suspended(false)).await?;
    resumed.until_status("it is synchronised again", has_no_trouble).await?;
    until_owners(engine, &[ACTIVE.as_slice(), &[SUSPENDED]].concat()).await?;

    for name in ["moons", SUSPENDED] {
        namespace.delete::<Object>(name).await?;
        namespace.until_gone::<Object>(name).await?;
    }
    until_owners(engine, &["planets", "pages"]).await?;
    for name in ["moons", SUSPENDED] {
        assert!(texts(engine, name).await?.is_empty(), "{name}");
    }
    Ok(())
}
