//! Measures the cost of a model on this machine: loading, memory, and processor time per text by length and batch size.
//!
//! `cargo run --release -p ragengine-embedding --example embedding_cost -- DIRECTORY`

#![expect(clippy::print_stdout, reason = "a measurement's result")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_embedding::Purpose;
use ragengine_embedding::files::ModelFiles;
use ragengine_embedding::local::{Model, Service, ServiceOptions, ThreadPool};
use ragengine_embedding::profile::{Overrides, Profile};

const ROUNDS: u32 = 5;
const TEXTS: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("give the path of the model's directory as the first argument")?;
    let files = ModelFiles::at(&directory)?;
    let profile = Profile::resolve(&directory, &files.read_configs()?, &Overrides::default())?;
    let started = Instant::now();
    let model = Arc::new(Model::load(&directory, &files, profile)?);
    println!("loaded in {:?}", started.elapsed());
    println!("{}", resident());
    let service = Service::start(Arc::clone(&model), &ServiceOptions::default())?;
    println!("with its threads {}", resident());
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    for tokens in [8, 16, 32, 64, 128, 254] {
        let text = vec!["river"; tokens].join(" ");
        for batch in [1, 2, 4, 8, 16] {
            let cost = cost_per_text(&model, &pool, &text, batch)?;
            println!("{tokens} tokens, batches of {batch}: {cost:.1?} a text");
        }
    }
    println!("afterwards {}", resident());
    drop(service);
    Ok(())
}

/// The best of several rounds, which excludes disturbances by other processes.
fn cost_per_text(model: &Model, pool: &Arc<ThreadPool>, text: &str, batch: usize) -> Result<Duration, String> {
    let texts = vec![text; batch];
    // Runs in the pool's thread, whose processor time is read.
    pool.run(|| {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let before = processor_time()?;
            for _ in 0..TEXTS / batch {
                model.embed(pool, Purpose::Passage, &texts).map_err(|error| error.to_string())?;
            }
            best = best.min(processor_time()? - before);
        }
        Ok(best / TEXTS as u32)
    })
}

/// The processor time of this thread.
fn processor_time() -> Result<Duration, String> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok()).ok_or(format!("{path}: {text}"))?;
    Ok(Duration::from_nanos(nanoseconds))
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.unwrap_or("memory unknown").split_whitespace().collect::<Vec<_>>().join(" ")
}
