//! Vectors for tests: clustered and of low rank within a cluster, as embeddings are. Independent random vectors are
//! unsuitable, because all of them are about equally far from each other.

/// SplitMix64 (Steele, Lea and Flood, 2014). A seed gives the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number in 0..end.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// An approximately normal number: the sum of 12 uniform ones.
    pub(crate) fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.bits() >> 40) as f32 / (1_u64 << 24) as f32).sum::<f32>() - 6.0
    }

    fn vectors(&mut self, count: usize, dimensions: usize) -> Vec<Vec<f32>> {
        (0..count).map(|_| (0..dimensions).map(|_| self.normal()).collect()).collect()
    }
}

const CLUSTERS: usize = 200;
const RANK: usize = 8;
/// Number of directions that all clusters share. Without them a graph walk could not leave a cluster.
const SHARED_RANK: usize = 24;

/// Creates `count` unit vectors, row-major, in random clusters.
pub(crate) fn clustered(count: usize, dimensions: usize, seed: u64) -> Vec<f32> {
    // The clusters are the same for every seed, so that queries are in the clusters of the rows.
    let mut shape = Random(1);
    let shared = shape.vectors(SHARED_RANK, dimensions);
    let clusters: Vec<_> = (0..CLUSTERS).map(|_| shape.vectors(1 + RANK, dimensions)).collect();
    let mut random = Random(seed);
    (0..count).flat_map(|_| member(&clusters[random.below(CLUSTERS)], &shared, &mut random)).collect()
}

/// Adds random amounts of the cluster's directions and of the shared ones, and some noise, to the cluster's centre.
fn member(cluster: &[Vec<f32>], shared: &[Vec<f32>], random: &mut Random) -> Vec<f32> {
    let mut vector = cluster[0].clone();
    let own = cluster[1..].iter().map(|direction| (0.3, direction));
    for (scale, direction) in own.chain(shared.iter().map(|direction| (0.2, direction))) {
        let weight = scale * random.normal();
        vector.iter_mut().zip(direction).for_each(|(value, along)| *value += weight * along);
    }
    vector.iter_mut().for_each(|value| *value += 0.05 * random.normal());
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= norm);
    vector
}
