//! The stages before a search: acronyms are expanded in the query, and a filter is chosen by its words.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::ExplainedStage;
use ragengine_pipeline::acronyms::expand;
use ragengine_pipeline::filter::{Filter, FilterRule, rule_for};
use ragengine_pipeline::request::StageChoices;
use ragengine_pipeline::words::Words;
use ragengine_settings::Settings;

use super::stages::{self, Endpoint, StagesOn, outcome, passed};
use crate::app::App;
use crate::error::ApiError;

/// Bytes of a query that are searched for an acronym or the words of a rule as fast as one byte is handled otherwise.
const BYTES_AT_ONCE: usize = 16;

/// The rules of the settings for queries.
pub struct QueryRules {
    acronyms: BTreeMap<String, String>,
    filters: Vec<FilterRule>,
}

impl QueryRules {
    /// Reads the rules of the settings. They were validated with the settings.
    ///
    /// # Errors
    ///
    /// The message of a malformed filter.
    pub fn new(settings: &Settings) -> Result<Arc<Self>, String> {
        let rule = |rule: &ragengine_settings::FilterRule| {
            let words = rule.words.iter().map(|phrase| Words::of(phrase)).collect();
            Filter::new(&rule.filter).map(|filter| FilterRule { words, filter })
        };
        let filters = settings.retrieval.filter_rules.iter().map(rule).collect::<Result<_, _>>();
        let filters = filters.map_err(|error| format!("retrieval.filterRules: {error}"))?;
        Ok(Arc::new(Self { acronyms: settings.rewrite.acronyms.clone(), filters }))
    }

    /// The filter of a rule.
    pub fn filter(&self, rule: usize) -> Filter {
        self.filters.get(rule).map(|rule| rule.filter.clone()).unwrap_or_default()
    }

    /// About how much work the rules are for a query, as bytes of text that are handled otherwise.
    fn weight(&self, query: &str) -> usize {
        let phrases = self.acronyms.len() + self.filters.iter().map(|rule| rule.words.len()).sum::<usize>();
        query.len().saturating_mul(1 + phrases / BYTES_AT_ONCE)
    }
}

/// A query that is ready for the search.
#[derive(Debug)]
pub struct PreparedQuery {
    /// The text to search for.
    pub text: String,
    /// The rule whose filter applies.
    pub rule: Option<usize>,
    /// The stages that are on.
    pub on: StagesOn,
    /// What the stages did, without those that are off. The outcome of a rule that applies is known after the search.
    pub stages: Vec<ExplainedStage>,
}

/// Prepares a query: on a compute thread if it is long.
///
/// # Errors
///
/// When the server is shutting down.
pub async fn prepare(
    app: &App,
    endpoint: Endpoint,
    query: &str,
    choices: &StageChoices,
) -> Result<PreparedQuery, ApiError> {
    let on = endpoint.stages(&app.settings, choices);
    let (rules, query) = (Arc::clone(&app.query_rules), query.to_owned());
    let weight = if on.acronyms || on.filters { rules.weight(&query) } else { 0 };
    let prepared = ragengine_compute::run(weight, move |_| Ok::<_, ApiError>(prepared(&rules, query, on))).await?;
    stages::count(&app.metrics, endpoint, "acronyms", &prepared.stages);
    if prepared.rule.is_none() {
        stages::count(&app.metrics, endpoint, "filters", &prepared.stages);
    }
    Ok(prepared)
}

fn prepared(rules: &QueryRules, query: String, on: StagesOn) -> PreparedQuery {
    let mut stages = Vec::new();
    let started = Instant::now();
    // The words of a rule may be an acronym or its expansion, so the rule sees both.
    let expanded = if on.acronyms { expand(&rules.acronyms, &query) } else { None };
    if on.acronyms {
        let stage = passed("acronyms", outcome(expanded.is_some()), started.elapsed());
        stages.push(ExplainedStage { question: expanded.clone(), ..stage });
    }
    let text = expanded.unwrap_or(query);
    let started = Instant::now();
    let rule = if on.filters { rule_for(&rules.filters, &text) } else { None };
    if on.filters {
        stages.push(ExplainedStage { rule, ..passed("filters", outcome(rule.is_some()), started.elapsed()) });
    }
    PreparedQuery { text, rule, on, stages }
}
