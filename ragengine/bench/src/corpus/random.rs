/// A deterministic pseudorandom number generator: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator with a separate sequence for each seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Self { state: seed };
        // Neighbouring seeds give neighbouring states. Taking one output as the state separates them.
        random.state = random.next();
        random
    }

    /// A number below `bound`. The modulo bias is negligible for small bounds.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of the values. Panics if there are none.
    pub fn pick<'a, T: ?Sized>(&mut self, values: &[&'a T]) -> &'a T {
        values[self.below(values.len())]
    }

    /// Shuffles the values (Fisher-Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// An approximately normal number with mean 0 and variance 1: the sum of 12 uniform numbers.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / (1_u64 << 24) as f32).sum::<f32>() - 6.0
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_value() {
        let mut values: Vec<usize> = (0..50).collect();
        Random::new(3).shuffle(&mut values);
        assert_ne!(values, (0..50).collect::<Vec<_>>());
        values.sort_unstable();
        assert_eq!(values, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(5);
        let numbers: Vec<f32> = (0..20_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f32>() / 20_000.0;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f32>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean}, {variance}");
    }

    #[test]
    fn every_value_comes_up() {
        let mut random = Random::new(0);
        let seen: std::collections::HashSet<usize> = (0..1000).map(|_| random.below(20)).collect();
        assert_eq!(seen.len(), 20);
    }
}
