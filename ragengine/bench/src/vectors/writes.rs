use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::clusters::Clusters;
use super::create;
use super::fill::document;
use crate::table::Row;

const TURN: Duration = Duration::from_secs(3);

/// Bytes written before each fsync of the floor: about the size of a document.
const BYTES: usize = 4096;

/// Measures durable writes: documents of one chunk per second, one per request.
pub fn rows(folder: &Path) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![Row::figure("writes of 4 KiB with fsync, without an index, per second", floor(folder)?)];
    for writers in [1, 8, 32] {
        let written = written(&folder.join(format!("writes-{writers}")), writers)?;
        rows.push(Row::figure(&format!("documents per second, {writers} writers, each waits for the disk"), written));
    }
    Ok(rows)
}

fn floor(folder: &Path) -> anyhow::Result<f64> {
    let mut file = File::create(folder.join("floor"))?;
    let (began, mut count) = (Instant::now(), 0);
    while began.elapsed() < TURN {
        file.write_all(&[7; BYTES])?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

fn written(directory: &Path, writers: usize) -> anyhow::Result<f64> {
    let index = create(directory, usize::MAX)?;
    let (clusters, next, began) = (&Clusters::new(), &AtomicUsize::new(0), Instant::now());
    let write = || -> anyhow::Result<()> {
        while began.elapsed() < TURN {
            let number = next.fetch_add(1, Ordering::Relaxed);
            index.put_vectors(vec![document(number, clusters.vector(number as u64))?])?;
        }
        Ok(())
    };
    let ended: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
        running.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for writer in ended {
        writer.map_err(|_| anyhow::anyhow!("a writer thread panicked"))??;
    }
    Ok(index.size().documents as f64 / began.elapsed().as_secs_f64())
}
