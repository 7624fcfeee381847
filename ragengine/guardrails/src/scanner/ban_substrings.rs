use std::sync::Arc;

use regex_syntax::hir::Hir;

use super::{Whole, Work};
use crate::patterns::{Case, Patterns, Rule, compile, parse};
use crate::policy::fields::{Fields, Problem};
use crate::redaction::{REDACTED, Replacement};

/// `ban_substrings`: `substrings`, `match_type` word or str, `case_sensitive`, `contains_all`.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let mut substrings = fields.texts("substrings", "phrases")?;
    let word = fields.choice("match_type", &["word", "str"], "word")? == "word";
    let case = if fields.flag("case_sensitive", false)? { Case::Sensitive } else { Case::Insensitive };
    let contains_all = fields.flag("contains_all", false)?;
    // The longest first, so that of two that begin alike the longer is replaced.
    substrings.sort_by_key(|substring| std::cmp::Reverse(substring.len()));
    let problem = |error: String| Problem::new("substrings", error);
    let hirs: Vec<Hir> =
        substrings.iter().map(|text| literal(text, word, case)).collect::<Result<_, _>>().map_err(problem)?;
    let rules = hirs.iter().map(|hir| Rule::new(hir.clone(), Replacement::Text(REDACTED))).collect();
    let patterns = Patterns::new(rules).map_err(problem)?;
    if !contains_all {
        return Ok(Work::Patterns(Arc::new(patterns)));
    }
    let each = hirs.iter().map(|hir| compile(&[hir])).collect::<Result<_, _>>().map_err(problem)?;
    Ok(Work::Whole(Arc::new(Whole::ContainsAll { each, patterns: Box::new(patterns) })))
}

fn literal(text: &str, word: bool, case: Case) -> Result<Hir, String> {
    let escaped = regex_syntax::escape(text);
    parse(&if word { format!(r"\b{escaped}\b") } else { escaped }, case)
}
