//! The floor: the minimum cost of a request. Calls the embedding model and FAISS directly in this process and measures
//! the processor time of the threads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{num::NonZeroUsize, thread};

use anyhow::{Context as _, ensure};
use ragengine_embedding::files::ModelFiles;
use ragengine_embedding::local::{Model, ThreadPool};
use ragengine_embedding::profile::{Overrides, Profile};
use ragengine_embedding::{Purpose, Vector};
use ragengine_faiss::{Kind, SearchOptions, VectorIndex, use_one_thread_per_call};

use crate::cpu;

/// The server's limits of a batch: number of texts, and number of texts × bytes of the longest text.
const BATCH_TEXTS: usize = 8;
const BATCH_BYTES: usize = 4 << 10;

/// An embedding model and an index of vectors.
pub struct Floor {
    model: Arc<Model>,
    index: Arc<VectorIndex>,
    /// One pool of one thread per processor, like the server's pools for passages.
    pools: Arc<[Arc<ThreadPool>]>,
}

/// When questions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionPace {
    /// Each question immediately after the previous answer.
    BackToBack,
    /// One question per interval, like the clients of a server. Questions after a pause cost more because caches are
    /// cold.
    Every(Duration),
}

impl QuestionPace {
    /// Waits until the next question is due. `began` is the time of the current question.
    fn wait(self, began: Instant) {
        if let Self::Every(interval) = self {
            thread::sleep(interval.saturating_sub(began.elapsed()));
        }
    }
}

/// Result of [`Floor::embed`].
pub struct Embedded {
    /// Vectors in the order of the texts.
    pub vectors: Vec<Vector>,
    /// Processor time of all threads.
    pub cpu: Duration,
}

/// Result of [`Floor::answer`].
pub struct Answered {
    /// For each question, the positions of the nearest vectors, nearest first.
    pub nearest: Vec<Vec<usize>>,
    /// Processor time of the thread.
    pub cpu: Duration,
}

impl Floor {
    /// Loads the model, with an empty index.
    ///
    /// # Errors
    ///
    /// If the model cannot be loaded.
    pub async fn load(directory: &Path) -> anyhow::Result<Self> {
        let directory = directory.to_owned();
        tokio::task::spawn_blocking(move || {
            let name = directory.display().to_string();
            let files = ModelFiles::at(directory)?;
            let profile = Profile::resolve(&name, &files.read_configs()?, &Overrides::default())?;
            let model = Arc::new(Model::load(&name, &files, profile)?);
            let index = Arc::new(VectorIndex::new(Kind::Flat, model.dimensions())?);
            let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
            let pools = (0..threads).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
            Ok(Self { model, index, pools })
        })
        .await?
    }

    /// Number of tokens of a text, without special tokens and prefixes.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.model.count_tokens(text)
    }

    /// Maximum length of a passage that the model embeds without truncation, in tokens.
    pub fn max_passage_tokens(&self) -> usize {
        self.model.max_passage_tokens()
    }

    /// Embeds texts as the server embeds those of one request: in the same batches and with the same number of threads,
    /// which compete for caches like those of the server.
    ///
    /// # Errors
    ///
    /// If the model fails.
    pub async fn embed(&self, texts: Vec<String>) -> anyhow::Result<Embedded> {
        let (model, pools) = (Arc::clone(&self.model), Arc::clone(&self.pools));
        tokio::task::spawn_blocking(move || embed(&model, &pools, &texts)).await?
    }

    /// Replaces the index with an exact one of these vectors, without a graph.
    ///
    /// # Errors
    ///
    /// If FAISS rejects the vectors.
    pub fn index(&mut self, vectors: &[Vector]) -> anyhow::Result<()> {
        let mut index = VectorIndex::new(Kind::Flat, self.model.dimensions())?;
        index.add(&vectors.concat())?;
        self.index = Arc::new(index);
        Ok(())
    }

    /// Embeds questions one by one and searches for the `k` nearest vectors of each, in one thread.
    ///
    /// # Errors
    ///
    /// If the model or FAISS fails.
    pub async fn answer(&self, questions: Vec<String>, k: usize, pace: QuestionPace) -> anyhow::Result<Answered> {
        let (model, index, pool) = (Arc::clone(&self.model), Arc::clone(&self.index), Arc::clone(&self.pools[0]));
        tokio::task::spawn_blocking(move || {
            let answered = measured(&pool, || {
                use_one_thread_per_call();
                let answer = |question: &String| {
                    let began = Instant::now();
                    let nearest = answer(&model, &index, &pool, question, k);
                    pace.wait(began);
                    nearest
                };
                questions.iter().map(answer).collect()
            });
            answered.map(|(nearest, cpu)| Answered { nearest, cpu })
        })
        .await?
    }
}

fn answer(
    model: &Model,
    index: &VectorIndex,
    pool: &Arc<ThreadPool>,
    question: &str,
    k: usize,
) -> anyhow::Result<Vec<usize>> {
    let vectors = model.embed(pool, Purpose::Query, &[question])?;
    let vector = vectors.first().context("the model returned no vector")?;
    let found = index.search(vector, k, None, SearchOptions::default())?;
    Ok(found.iter().map(|neighbor| neighbor.position).collect())
}

fn embed(model: &Model, pools: &[Arc<ThreadPool>], texts: &[String]) -> anyhow::Result<Embedded> {
    let batches = batches(texts);
    let next = AtomicUsize::new(0);
    let take_batches = &|pool: &Arc<ThreadPool>| {
        let mut done = Vec::new();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let texts: Vec<&str> = batch.iter().map(|&position| texts[position].as_str()).collect();
            done.extend(batch.iter().copied().zip(model.embed(pool, Purpose::Passage, &texts)?));
        }
        Ok(done)
    };
    let finished: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> =
            pools.iter().map(|pool| scope.spawn(move || measured(pool, || take_batches(pool)))).collect();
        running.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut embedded = Embedded { vectors: vec![Vector::new(); texts.len()], cpu: Duration::ZERO };
    for thread in finished {
        let (done, cpu) = thread.map_err(|_| anyhow::anyhow!("an embedding thread panicked"))??;
        done.into_iter().for_each(|(position, vector)| embedded.vectors[position] = vector);
        embedded.cpu += cpu;
    }
    ensure!(embedded.vectors.iter().all(|vector| !vector.is_empty()), "a text has no vector");
    Ok(embedded)
}

/// Runs `work` in the only thread of a pool and measures the processor time of that thread.
fn measured<T: Send>(
    pool: &ThreadPool,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<(T, Duration)> {
    pool.run(|| {
        let before = cpu::of_this_thread();
        let done = work()?;
        Ok((done, cpu::of_this_thread().saturating_sub(before)))
    })
}

/// Positions of the texts, longest first, in batches like those of the server.
fn batches(texts: &[String]) -> Vec<Vec<usize>> {
    let mut positions: Vec<usize> = (0..texts.len()).collect();
    positions.sort_by_key(|&position| std::cmp::Reverse(texts[position].len()));
    let mut batches = Vec::new();
    let mut rest = positions.as_slice();
    while let Some(&longest) = rest.first() {
        let size = (BATCH_BYTES / texts[longest].len().max(1)).clamp(1, BATCH_TEXTS).min(rest.len());
        batches.push(rest[..size].to_vec());
        rest = &rest[size..];
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_limited_and_contain_every_text() {
        let lengths = [900, 1000, 2100, 950, 40, 9000, 980, 990];
        let texts: Vec<String> = lengths.iter().map(|&length| "x".repeat(length)).collect();
        assert_eq!(batches(&texts), [vec![5], vec![2], vec![1, 7, 6, 3], vec![0, 4]]);
        assert!(batches(&[]).is_empty());
        assert_eq!(batches(&vec!["short".to_owned(); 20]).iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 4]);
    }
}
