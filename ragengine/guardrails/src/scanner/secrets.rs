mod forms;

use std::sync::Arc;

use super::Work;
use crate::patterns::{Case, Patterns, Rule, parse};
use crate::policy::fields::{Fields, Problem};
use crate::redaction::Replacement;
use forms::FORMS;

/// `secrets`: `redact_mode` all, partial or hash.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let replacement = match fields.choice("redact_mode", &["all", "partial", "hash"], "all")? {
        "partial" => Replacement::Partial,
        "hash" => Replacement::Hash,
        _ => Replacement::Text("******"),
    };
    let problem = |error: String| Problem::new("type", error);
    let mut rules = Vec::with_capacity(FORMS.len());
    for form in FORMS {
        let rule = Rule::new(parse(form.pattern, Case::Sensitive).map_err(problem)?, replacement);
        rules.push(match form.accept {
            Some(accept) => rule.accept(accept),
            None => rule,
        });
    }
    Ok(Work::Patterns(Arc::new(Patterns::new(rules).map_err(problem)?)))
}
