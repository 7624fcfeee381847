//! Filters that are chosen by the words of a query.

use super::Filter;
use crate::words::Words;

/// A filter for queries with one of these words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRule {
    /// Words and phrases, in any case. Without any, the rule is for queries that no other rule matches.
    pub words: Vec<Words>,
    /// The filter.
    pub filter: Filter,
}

/// The position of the rule for a query: the first one with a word of the query, else the first one without words.
pub fn rule_for(rules: &[FilterRule], query: &str) -> Option<usize> {
    let query = Words::of(query);
    let matches = |rule: &FilterRule| rule.words.iter().any(|phrase| query.contain(phrase));
    rules.iter().position(matches).or_else(|| rules.iter().position(|rule| rule.words.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rules() -> Vec<FilterRule> {
        let rule = |words: &[&str], filter: Value| FilterRule {
            words: words.iter().map(|phrase| Words::of(phrase)).collect(),
            filter: Filter::new(filter.as_object().unwrap()).unwrap(),
        };
        vec![
            rule(&["ga counts", "gacounts"], json!({"category": {"$in": ["documentation", "ga_counts_app"]}})),
            rule(&["policy", "policies"], json!({"category": {"$in": ["abo_policies"]}, "priority": {"$gte": 7}})),
            rule(&["logo", "brand"], json!({"category": "brand_guidelines"})),
            rule(&["training"], json!({"category": {"$in": ["ets_training", "leadership_dev"]}})),
            rule(&[], json!({"sourceEnvironment": "production"})),
        ]
    }

    #[test]
    fn the_first_rule_that_matches_applies() {
        for (query, expected) in [
            ("How do I report in GA Counts?", 0),
            ("Where is GaCounts?", 0),
            ("What is the travel policy?", 1),
            ("List all policies.", 1),
            ("Which logo may I use?", 2),
            ("Is there a brand book?", 2),
            ("When is the next training?", 3),
            ("Does GaCounts have a policy?", 0),
            ("Who is the dean?", 4),
            ("Do policyholders retrain?", 4),
        ] {
            assert_eq!(rule_for(&rules(), query), Some(expected), "{query}");
        }
        assert_eq!(rule_for(&rules()[..4], "Who is the dean?"), None);
    }
}
