use crate::corpus::Random;

use super::DIMENSIONS;

const CLUSTERS: usize = 1000;
/// Number of directions in which the members of a cluster differ, and the standard deviation along each.
const RANK: usize = 8;
const SPREAD: f32 = 0.3;
/// Number of directions in which all vectors differ. They connect the clusters.
const SHARED_RANK: usize = 24;
const SHARED_SPREAD: f32 = 0.2;
const NOISE: f32 = 0.05;

/// Vectors of length 1 in random clusters of low rank, similar to embeddings. Independent random vectors are
/// unsuitable: they are all about equally far from each other.
pub struct Clusters {
    shared: Vec<Vec<f32>>,
    /// For each cluster its centre, followed by its directions.
    clusters: Vec<Vec<Vec<f32>>>,
}

impl Clusters {
    /// Deterministic clusters.
    pub fn new() -> Self {
        let mut random = Random::new(1);
        let mut directions = |count: usize| (0..count).map(|_| direction(&mut random)).collect::<Vec<_>>();
        let shared = directions(SHARED_RANK);
        Self { shared, clusters: (0..CLUSTERS).map(|_| directions(1 + RANK)).collect() }
    }

    /// The vector with this number. Deterministic.
    pub fn vector(&self, number: u64) -> Vec<f32> {
        let mut random = Random::new(number);
        let cluster = &self.clusters[random.below(CLUSTERS)];
        let mut vector = cluster[0].clone();
        let own = cluster[1..].iter().map(|direction| (SPREAD, direction));
        for (spread, direction) in own.chain(self.shared.iter().map(|direction| (SHARED_SPREAD, direction))) {
            let weight = spread * random.normal();
            vector.iter_mut().zip(direction).for_each(|(value, along)| *value += weight * along);
        }
        vector.iter_mut().for_each(|value| *value += NOISE * random.normal());
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= norm);
        vector
    }
}

fn direction(random: &mut Random) -> Vec<f32> {
    (0..DIMENSIONS).map(|_| random.normal()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_and_neighbours() {
        let clusters = Clusters::new();
        let vectors: Vec<Vec<f32>> = (0..10_000).map(|number| clusters.vector(number)).collect();
        let product = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f32>();
        assert!(vectors.iter().all(|vector| (product(vector, vector) - 1.0).abs() < 1e-4));
        assert_eq!(vectors[7], Clusters::new().vector(7));
        // Among as many independent vectors, the nearest one has a cosine of about 0.2.
        for place in 0..10 {
            let others = || (0..vectors.len()).filter(|&other| other != place);
            let cosines = || others().map(|other| product(&vectors[place], &vectors[other]));
            let (nearest, mean) = (cosines().fold(f32::MIN, f32::max), cosines().sum::<f32>() / 9999.0);
            assert!(nearest > 0.4 && mean.abs() < 0.1, "vector {place}: nearest {nearest}, mean {mean}");
        }
    }
}
