//! A server under mixed load for `SOAK_MINUTES`, with restarts, loses nothing. Its memory, open files and disk space do
//! not grow. `make test` runs it for seconds and only checks for losses; `make soak` runs it for minutes and also
//! checks the growth.

mod reader;
mod usage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use usage::Usage;

use crate::crash::check::check;
use crate::crash::model::Recall;
use crate::crash::writer::Writer;
use crate::crash::{Scene, kill, no_errors, number};
use crate::support::process::Process;

const WRITERS: usize = 4;
const READERS: u64 = 3;

/// Number of samples in one run, at equal intervals.
const SAMPLES: usize = 60;

/// Number of samples at the beginning that are ignored, while caches fill and files reach their size.
const WARM_UP: usize = 12;

/// Length of a run without `SOAK_MINUTES`.
const SHORT: Duration = Duration::from_secs(6);

#[test]
fn resource_usage_does_not_grow_under_load() {
    let seed = number("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    let minutes = number("SOAK_MINUTES");
    let length = minutes.map_or(SHORT, |minutes| Duration::from_secs(60 * minutes));
    eprintln!("CRASH_SEED={seed} SOAK_MINUTES={}", minutes.unwrap_or_default());
    let (scene, http) = (Scene::new(), reqwest::Client::new());
    let mut writers: Vec<Writer> = (0..WRITERS).map(|number| Writer::new(number, seed)).collect();
    let mut recall = Recall::default();

    // The first server is stopped during the work, the second one is killed.
    let server = scene.make_shared(&http);
    writers = scene.runtime.block_on(work(&server, writers, async { tokio::time::sleep(length / 10).await }));
    no_errors(&server);
    assert_eq!(server.terminate(), Some(0));

    let server = scene.start();
    recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
    let mut usage = Vec::new();
    let watching = watch(&scene, &server, length, &mut usage);
    writers = scene.runtime.block_on(work(&server, writers, watching));
    kill(server);

    let server = scene.start();
    recall.add(scene.runtime.block_on(check(&http, &server.url, &mut writers)));
    assert_eq!(server.terminate(), Some(0));
    writers.iter().for_each(|writer| recall.add(writer.recall));
    let acknowledged: usize = writers.iter().map(|writer| writer.acknowledged).sum();
    eprintln!(
        "{acknowledged} changes were acknowledged; searches found {} of {} chunks",
        recall.found, recall.expected
    );
    recall.check("all searches");
    if minutes.is_some() {
        usage::check(&usage[WARM_UP..]);
    }
}

/// Runs writers and readers until `until` completes. Then each finishes its current request.
async fn work(server: &Process, writers: Vec<Writer>, until: impl Future<Output = ()>) -> Vec<Writer> {
    let is_over = Arc::new(AtomicBool::new(false));
    let write = |mut writer: Writer| {
        let (url, is_over) = (server.url.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                assert!(writer.step(&url).await.is_ok(), "the server is gone");
            }
            writer
        })
    };
    let writing: Vec<_> = writers.into_iter().map(write).collect();
    let read = |number| tokio::spawn(reader::read(server.url.clone(), number, Arc::clone(&is_over)));
    let reading: Vec<_> = (0..READERS).map(read).collect();
    until.await;
    is_over.store(true, Ordering::Relaxed);
    for reader in reading {
        reader.await.unwrap();
    }
    let mut writers = Vec::new();
    for writer in writing {
        writers.push(writer.await.unwrap());
    }
    writers
}

/// Samples the resource usage of the server at equal intervals, and prints every fourth sample.
async fn watch(scene: &Scene, server: &Process, length: Duration, usage: &mut Vec<Usage>) {
    let (pid, data, started) = (server.id(), scene.data(), Instant::now());
    for sample in 0..SAMPLES {
        tokio::time::sleep(length / SAMPLES as u32).await;
        let now = Usage::of(pid, &data);
        if sample % 4 == 3 {
            eprintln!("{:>6} s  {now}", started.elapsed().as_secs());
        }
        usage.push(now);
    }
}
