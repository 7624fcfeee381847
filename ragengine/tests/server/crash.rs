//! The program is killed repeatedly at random instants while several clients write. Afterwards every acknowledged write
//! is there, every other write is there completely or not at all, and searches find what they must.

pub mod check;
pub mod model;
pub mod writer;

use std::path::PathBuf;
use std::time::Duration;

use check::check;
use fastrand::Rng;
use model::Recall;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use writer::{SHARED, Writer};

use crate::support::embedder::{RemoteEmbedder, reply};
use crate::support::process::Process;

const WRITERS: usize = 4;

/// Default number of kills. `make soak` sets more.
const ROUNDS: usize = 20;

/// A server runs for at most this time before it is killed.
const LIFE_MS: u64 = 900;

/// A server that is killed during its start is killed within this time.
const START_MS: u64 = 150;

/// A low threshold for graphs, so that they are often built, abandoned and loaded.
const SEARCH: &str = "vectorIndex: HNSW16\nsearch: {exactBelowRows: 60}\nlog: {format: json}\n";

/// A folder with the data and settings of the servers, and their embedder.
pub struct Scene {
    pub folder: TempDir,
    pub runtime: Runtime,
    _embedder: RemoteEmbedder,
}

impl Scene {
    pub fn new() -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let embedder = runtime.block_on(RemoteEmbedder::scripted(|inputs| reply(&inputs, model::vector)));
        std::fs::write(folder.path().join("settings.yaml"), embedder.settings("any", SEARCH)).unwrap();
        Self { folder, runtime, _embedder: embedder }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a server and waits until it is ready.
    pub fn start(&self) -> Process {
        Process::start_configured(&self.data(), &self.settings())
    }

    /// Starts the first server and creates the index that all writers share.
    pub fn make_shared(&self, http: &reqwest::Client) -> Process {
        let server = self.start();
        let made = http.put(format!("{}/indexes/{SHARED}", server.url)).json(&serde_json::json!({})).send();
        self.runtime.block_on(made).unwrap().error_for_status().unwrap();
        server
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("settings.yaml")
    }
}

/// A number from an environment variable: `make soak` sets the amount of work, and a seed repeats a failed run.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

#[test]
fn acknowledged_writes_survive_kills_at_any_instant() {
    let seed = number("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    let rounds = number("CRASH_ROUNDS").map_or(ROUNDS, |rounds| usize::try_from(rounds).unwrap());
    eprintln!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let scene = Scene::new();
    let mut random = Rng::with_seed(seed);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|number| Writer::new(number, seed)).collect();
    let http = reqwest::Client::new();
    let mut recall = Recall::default();
    scene.make_shared(&http).kill();
    for round in 0..rounds {
        if random.u32(..4) == 0 {
            let server = Process::start_configured_unready(&scene.data(), &scene.settings());
            std::thread::sleep(Duration::from_millis(random.u64(..START_MS)));
            kill(server);
        }
        let server = scene.start();
        recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
        let life = Duration::from_millis(random.u64(..LIFE_MS));
        writers = scene.runtime.block_on(live(server, writers, life));
        if round % 10 == 9 {
            let acknowledged: usize = writers.iter().map(|writer| writer.acknowledged).sum();
            eprintln!("round {}: {acknowledged} changes were acknowledged", round + 1);
        }
    }
    let mut server = scene.start();
    recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
    server.wait_until("has a graph", |server| has_graph(&scene, &http, &server.url).then_some(()));
    recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
    assert_eq!(server.terminate(), Some(0));
    let server = scene.start();
    recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
    writers.iter().for_each(|writer| recall.add(writer.recall));
    eprintln!("searches found {} of {} chunks", recall.found, recall.expected);
    recall.check("all searches");
    assert!(recall.expected > 0);
    no_errors(&server);
}

/// Runs the writers for `life` and then kills the server.
async fn live(server: Process, writers: Vec<Writer>, life: Duration) -> Vec<Writer> {
    let work = |mut writer: Writer| {
        let url = server.url.clone();
        tokio::spawn(async move {
            writer.work(&url).await;
            writer
        })
    };
    let working: Vec<_> = writers.into_iter().map(work).collect();
    tokio::time::sleep(life).await;
    kill(server);
    let mut writers = Vec::new();
    for work in working {
        writers.push(work.await.unwrap());
    }
    writers
}

/// Kills a server after checking that it logged no errors.
pub fn kill(server: Process) {
    no_errors(&server);
    server.kill();
}

pub fn no_errors(server: &Process) {
    let errors: Vec<Value> = server.log_lines().into_iter().filter(|line| line["level"] == "ERROR").collect();
    assert!(errors.is_empty(), "{errors:?}");
}

fn has_graph(scene: &Scene, http: &reqwest::Client, url: &str) -> bool {
    let described = scene.runtime.block_on(async {
        http.get(format!("{url}/indexes/{SHARED}")).send().await.unwrap().json::<Value>().await.unwrap()
    });
    described["graph_chunks"].as_u64().is_some_and(|chunks| chunks > 0)
}
