//! Figures of one question. Relevance is binary, and a ranking is a list of different document ids, best first.

/// The share of the relevant documents that are among the first `k`.
pub fn recall(ranking: &[String], relevant: &[String], k: usize) -> f64 {
    ratio(hits(ranking, relevant, k).count(), relevant.len())
}

/// 1 divided by the rank of the first relevant document, or 0 if none is among the first `k`.
pub fn reciprocal_rank(ranking: &[String], relevant: &[String], k: usize) -> f64 {
    hits(ranking, relevant, k).next().map_or(0.0, |position| ratio(1, position + 1))
}

/// The normalised discounted cumulative gain of the first `k`: a relevant document at rank r counts 1 / log2(r + 1),
/// and the best possible ranking has 1.
pub fn ndcg(ranking: &[String], relevant: &[String], k: usize) -> f64 {
    let best: f64 = (0..relevant.len().min(k)).map(discount).sum();
    let gained: f64 = hits(ranking, relevant, k).map(discount).sum();
    // Sums of the same terms in another order may differ in the last bit.
    if best > 0.0 { (gained / best).min(1.0) } else { 0.0 }
}

/// The ranking of a search whose results are chunks: each document once, at the place of its best chunk.
pub fn distinct(doc_ids: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    doc_ids.into_iter().filter(|doc_id| seen.insert(doc_id.clone())).collect()
}

/// The positions of relevant documents among the first `k`, from 0.
fn hits<'a>(ranking: &'a [String], relevant: &'a [String], k: usize) -> impl Iterator<Item = usize> + 'a {
    let first = ranking.iter().take(k).enumerate();
    first.filter(|(_, doc_id)| relevant.contains(doc_id)).map(|(position, _)| position)
}

fn discount(position: usize) -> f64 {
    1.0 / as_f64(position + 2).log2()
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { as_f64(part) / as_f64(whole) }
}

/// Counts here are far below 2^52, so the conversion is exact.
pub(crate) fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn figures_are_those_computed_by_hand() {
        let (ranking, relevant) = (ids("a b c d e"), ids("b d z"));
        near(recall(&ranking, &relevant, 1), 0.0);
        near(recall(&ranking, &relevant, 2), 1.0 / 3.0);
        near(recall(&ranking, &relevant, 10), 2.0 / 3.0);
        near(reciprocal_rank(&ranking, &relevant, 10), 0.5);
        near(reciprocal_rank(&ranking, &relevant, 1), 0.0);
        // Gained: 1/log2(3) + 1/log2(5) = 0.6309297536 + 0.4306765581. Best: 1 + 1/log2(3) + 1/log2(4) = 2.1309297536.
        near(ndcg(&ranking, &relevant, 10), 1.061_606_311_6 / 2.130_929_753_6);
        // Only two fit: the best is 1 + 1/log2(3).
        near(ndcg(&ranking, &relevant, 2), 0.630_929_753_6 / 1.630_929_753_6);
    }

    #[test]
    fn a_perfect_ranking_has_one_and_an_empty_one_has_zero() {
        let relevant = ids("a b");
        for figure in [recall, reciprocal_rank, ndcg] {
            near(figure(&ids("b a c"), &relevant, 10), 1.0);
            near(figure(&[], &relevant, 10), 0.0);
            near(figure(&ids("a"), &[], 10), 0.0);
        }
    }

    #[test]
    fn a_document_counts_at_the_place_of_its_best_chunk() {
        assert_eq!(distinct(ids("a b a c b")), ids("a b c"));
    }

    proptest! {
        #[test]
        fn figures_are_between_zero_and_one(
            ranking in prop::collection::vec("[a-h]", 0..20),
            relevant in prop::collection::hash_set("[a-h]", 0..6),
            k in 0..12_usize,
        ) {
            let (ranking, relevant): (Vec<String>, Vec<String>) = (distinct(ranking), relevant.into_iter().collect());
            for figure in [recall, reciprocal_rank, ndcg] {
                let value = figure(&ranking, &relevant, k);
                prop_assert!((0.0..=1.0).contains(&value), "{value}");
            }
        }

        #[test]
        fn more_results_never_lower_recall(
            ranking in prop::collection::vec("[a-h]", 0..20),
            relevant in prop::collection::hash_set("[a-h]", 1..6),
            k in 0..12_usize,
        ) {
            let (ranking, relevant): (Vec<String>, Vec<String>) = (distinct(ranking), relevant.into_iter().collect());
            prop_assert!(recall(&ranking, &relevant, k) <= recall(&ranking, &relevant, k + 1));
        }
    }
}
