use ragengine_faiss::{Kind, Neighbor, PositionSet, SearchOptions, VectorIndex};

use super::clusters::Clusters;
use super::{DIMENSIONS, NEAREST};

/// Vectors compared at once, to limit the memory.
const BLOCK: usize = 20_000;

/// For each divisor in `each` and each query, the numbers of the nearest vectors among the multiples of the divisor
/// below `chunks`. Exact, by comparing all vectors.
pub fn nearest(queries: &[Vec<f32>], chunks: usize, each: &[usize]) -> anyhow::Result<Vec<Vec<Vec<usize>>>> {
    let clusters = Clusters::new();
    let mut found: Vec<Vec<Vec<Neighbor>>> = vec![vec![Vec::new(); queries.len()]; each.len()];
    for first in (0..chunks).step_by(BLOCK) {
        let numbers = first..chunks.min(first + BLOCK);
        let mut block = VectorIndex::new(Kind::Flat, DIMENSIONS)?;
        block.add(&numbers.clone().flat_map(|number| clusters.vector(number as u64)).collect::<Vec<_>>())?;
        for (of, found) in each.iter().zip(&mut found) {
            let mut filter = PositionSet::with_len(numbers.len());
            numbers.clone().filter(|number| number % of == 0).for_each(|number| {
                filter.insert(number - first);
            });
            for (query, found) in queries.iter().zip(found) {
                let near = block.search(query, NEAREST, Some(&filter), SearchOptions::default())?;
                found.extend(near.iter().map(|near| Neighbor { position: first + near.position, ..*near }));
                found.sort_by(|left, right| left.distance.total_cmp(&right.distance));
                found.truncate(NEAREST);
            }
        }
    }
    let positions = |near: Vec<Neighbor>| near.iter().map(|near| near.position).collect();
    Ok(found.into_iter().map(|queries| queries.into_iter().map(positions).collect()).collect())
}
