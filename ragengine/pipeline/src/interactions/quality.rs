//! The measures of a context.

use serde::Serialize;

use super::entries::entries;
use super::relevance::{DEFAULT_MAX_ENTRIES, DEFAULT_THRESHOLD, filter_relevant_context};
use super::validity::validate_context;

/// What stands before the similarity in the first line of an entry.
const SIMILARITY: &str = "similarity: ";

/// The measures of a context, with its problems and what the word filter leaves of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// The measures.
    #[serde(flatten)]
    pub measures: Measures,
    /// Whether it has the form of a context.
    pub valid: bool,
    /// What is wrong with its form.
    pub warnings: Vec<String>,
    /// The context after [`filter_relevant_context`] with its defaults.
    pub filtered: String,
}

/// The measures of a context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Measures {
    /// It is empty.
    Empty {
        /// `empty`.
        quality: &'static str,
        /// 0.
        score: u8,
    },
    /// It has entries.
    Filled {
        /// The number of entries.
        entry_count: usize,
        /// The characters of the context.
        total_chars: usize,
        /// The characters of the context divided by the number of entries.
        avg_entry_length: f64,
        /// Whether there is a `[`.
        has_metadata: bool,
        /// The similarities that the entries name.
        relevance_scores: Vec<f64>,
        /// The measures of these similarities, if there are any.
        #[serde(flatten)]
        similarities: Option<Similarities>,
    },
}

/// The measures of the similarities that entries name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Similarities {
    /// Their mean.
    pub avg_similarity: f64,
    /// The least.
    pub min_similarity: f64,
    /// The largest.
    pub max_similarity: f64,
}

/// Assesses a context for a question.
pub fn assess_context_quality(context: &str, question: &str) -> Assessment {
    let validity = validate_context(context);
    Assessment {
        measures: measures(context),
        valid: validity.is_ok(),
        warnings: validity.err().map(|problem| problem.to_string()).into_iter().collect(),
        filtered: filter_relevant_context(context, question, DEFAULT_MAX_ENTRIES, DEFAULT_THRESHOLD),
    }
}

fn measures(context: &str) -> Measures {
    if context.is_empty() {
        return Measures::Empty { quality: "empty", score: 0 };
    }
    let entries = entries(context);
    let total_chars = context.chars().count();
    let relevance_scores: Vec<f64> = entries.iter().filter_map(|entry| similarity_in(entry)).collect();
    Measures::Filled {
        entry_count: entries.len(),
        total_chars,
        avg_entry_length: float(total_chars) / float(entries.len()),
        has_metadata: context.contains('['),
        similarities: similarities(&relevance_scores),
        relevance_scores,
    }
}

/// The first similarity in an entry, up to the bracket after it. None if that is no number.
fn similarity_in(entry: &str) -> Option<f64> {
    let (_, rest) = entry.split_once(SIMILARITY)?;
    let (number, _) = rest.split_once(']')?;
    number.trim().parse().ok().filter(|similarity: &f64| similarity.is_finite())
}

fn similarities(scores: &[f64]) -> Option<Similarities> {
    let min_similarity = scores.iter().copied().reduce(f64::min)?;
    let max_similarity = scores.iter().copied().reduce(f64::max)?;
    Some(Similarities {
        avg_similarity: scores.iter().sum::<f64>() / float(scores.len()),
        min_similarity,
        max_similarity,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a context has far fewer than 2^52 characters")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn assessed(context: &str, question: &str) -> String {
        serde_json::to_string(&assess_context_quality(context, question)).unwrap()
    }

    /// The example of the API.
    #[test]
    fn one_entry() {
        assert_eq!(
            assessed("[a/b - similarity: 0.900]\nQ: x\nA: y", "x"),
            "{\"entry_count\":1,\"total_chars\":35,\"avg_entry_length\":35.0,\"has_metadata\":true,\
             \"relevance_scores\":[0.9],\"avg_similarity\":0.9,\"min_similarity\":0.9,\"max_similarity\":0.9,\
             \"valid\":true,\"warnings\":[],\"filtered\":\"[a/b - similarity: 0.900]\\nQ: x\\nA: y\"}"
        );
    }

    #[test]
    fn an_empty_context() {
        let expected = json!({"quality": "empty", "score": 0, "valid": true, "warnings": [], "filtered": ""});
        assert_eq!(assessed("", "x"), expected.to_string());
    }

    #[test]
    fn similarities_are_only_there_where_an_entry_names_one() {
        for (context, scores, measures) in [
            (
                "[a/b - similarity: 0.900]\nQ: x\nA: y\n\n---\n\n[a/b - similarity: 0.500]\nQ: x\nA: ü",
                json!([0.9, 0.5]),
                json!([0.7, 0.5, 0.9]),
            ),
            ("Q: x\nA: y", json!([]), json!([null, null, null])),
            ("[similarity: high]\nQ: x\nA: y", json!([]), json!([null, null, null])),
            ("[similarity: NaN]\nQ: x\nA: y", json!([]), json!([null, null, null])),
            ("similarity: 0.5\nQ: x\nA: y", json!([]), json!([null, null, null])),
        ] {
            let assessed: Value = serde_json::from_str(&assessed(context, "x")).unwrap();
            assert_eq!(assessed["relevance_scores"], scores, "{context}");
            let found = ["avg_similarity", "min_similarity", "max_similarity"].map(|key| assessed[key].clone());
            assert_eq!(json!(found), measures, "{context}");
            assert_eq!(assessed.get("min_similarity").is_some(), scores != json!([]), "{context}");
            assert_eq!(assessed["has_metadata"], context.contains('['));
            let entries = if context.contains("---") { 2.0 } else { 1.0 };
            let average = assessed["total_chars"].as_f64().map(|chars| chars / entries);
            assert_eq!(assessed["avg_entry_length"].as_f64(), average, "{context}");
        }
    }

    #[test]
    fn problems_are_warnings() {
        let assessed: Value = serde_json::from_str(&assessed("no form", "form of it")).unwrap();
        assert_eq!(assessed["valid"], false);
        assert_eq!(assessed["warnings"], json!(["Context missing Q&A format"]));
        assert_eq!(assessed["filtered"], "no form");
        assert_eq!(assessed["avg_entry_length"], 7.0);
    }
}
