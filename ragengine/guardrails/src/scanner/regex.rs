use std::sync::Arc;

use regex_automata::{Anchored, Input};
use regex_syntax::hir::Hir;

use super::{Whole, Work};
use crate::patterns::{Case, Patterns, Rule, compile, parse};
use crate::policy::fields::{Fields, Problem};
use crate::redaction::{REDACTED, Replacement};

/// `regex`: `patterns`, `match_type` search (or all) or fullmatch, `is_blocked`.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let patterns = fields.texts("patterns", "regular expressions")?;
    let full = fields.choice("match_type", &["search", "all", "fullmatch"], "search")? == "fullmatch";
    let is_blocked = fields.flag("is_blocked", true)?;
    let mut hirs = Vec::with_capacity(patterns.len());
    for (index, pattern) in patterns.iter().enumerate() {
        let place = format!("patterns[{index}]");
        let hir = parse(pattern, Case::Sensitive).map_err(|error| Problem::new(&place, explain(&error)))?;
        let matches_empty = hir.properties().minimum_len() == Some(0);
        if matches_empty && is_blocked && !full {
            let advice = "matches the empty text, and so every answer: make at least one character mandatory, for \
                          example with + in place of *";
            return Err(Problem::new(&place, advice));
        }
        if hir.properties().minimum_len().is_none() {
            return Err(Problem::new(&place, "has a part that can never match, such as [a&&b]: remove it"));
        }
        hirs.push(hir);
    }
    let too_large = |error: String| Problem::new("patterns", error);
    if is_blocked && !full {
        let rules = hirs.into_iter().map(|hir| Rule::new(hir, Replacement::Text(REDACTED))).collect();
        return Ok(Work::Patterns(Arc::new(Patterns::new(rules).map_err(too_large)?)));
    }
    let hirs: Vec<Hir> = if full { hirs.into_iter().map(whole_text).collect() } else { hirs };
    let regex = compile(&hirs.iter().collect::<Vec<_>>()).map_err(too_large)?;
    Ok(Work::Whole(Arc::new(Whole::Regex { regex, is_blocked })))
}

/// The pattern with the condition that the match is the whole text.
fn whole_text(hir: Hir) -> Hir {
    use regex_syntax::hir::Look;
    Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)])
}

/// Whether any pattern matches.
pub(super) fn is_match(regex: &regex_automata::meta::Regex, text: &str) -> bool {
    regex.is_match(Input::new(text).anchored(Anchored::No))
}

fn explain(error: &str) -> String {
    if error.contains("look-around") || error.contains("backreference") {
        format!(
            "{error}, because matching could take very long: state what the text looks like, with \\b at the edges \
             of words if needed"
        )
    } else {
        format!("is not a regular expression: {error}")
    }
}
