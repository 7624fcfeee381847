//! The rules of the Indexes of an engine, as its server reads them. Pure functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{AccessRules, Auth, DefaultAccess, Index, is_access_rule};
use ragengine_settings as settings;
use serde::{Deserialize, Serialize};

use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::finding::quoted;
use crate::names::Identity;
use crate::rag_engine::settings::ACCESS_FILE;

/// The longest part of a wrong rule in a message, in characters.
const MAX_QUOTED_RULE: usize = 100;

/// The most bytes that the rules of all indexes of an engine have together. A ConfigMap holds 1 MiB, and its text has
/// marks around each rule.
const MAX_BYTES: usize = 384 << 10;

/// About how many bytes of the file a rule or an index has besides its text.
const MARKS_BYTES: usize = 16;

/// The rules of indexes by the name of the index. An index without rules is not in it.
pub type RulesByIndex = BTreeMap<String, AccessRules>;

/// The content of `access.yaml`.
#[derive(Debug, Serialize)]
struct AccessFile<'a> {
    /// The operator's principal. None: the operator does not know its own ServiceAccount.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
    indexes: BTreeMap<&'a str, Rules<'a>>,
}

/// Both lists are always written.
#[derive(Debug, Serialize)]
struct Rules<'a> {
    read: &'a [String],
    write: &'a [String],
}

/// The age of an Index. Of two that were created in the same second, the name decides.
pub fn age(index: &Index) -> (Option<Time>, Option<String>) {
    (index.metadata.creation_timestamp.clone(), index.metadata.name.clone())
}

/// The rules of an Index in a form that can be compared: the order and repetitions have no meaning.
pub fn normalised(rules: Option<&AccessRules>) -> Option<AccessRules> {
    let sorted = |rules: &[String]| {
        let mut rules = rules.to_vec();
        rules.sort();
        rules.dedup();
        rules
    };
    rules.map(|AccessRules { read, write }| AccessRules { read: sorted(read), write: sorted(write) })
}

/// The rules of indexes that have none.
pub fn default_access(auth: &Auth) -> AccessRules {
    let DefaultAccess { read, write } = auth.default_access.clone().unwrap_or_default();
    let of_server = settings::Auth::default().default_access;
    AccessRules { read: read.unwrap_or(of_server.read), write: write.unwrap_or(of_server.write) }
}

/// Whether an Index has put documents into its index. While their number is not known, a synchronisation that has
/// succeeded is taken for it. Only the operator writes the status of an Index.
pub fn has_filled(index: &Index) -> bool {
    let status = index.status.as_ref();
    status.is_some_and(|status| status.documents.map_or(status.last_success_time.is_some(), |count| count > 0))
}

/// What the rules of Indexes apply to.
#[derive(Debug, Clone, Copy)]
pub struct RulesInput<'a> {
    /// The engine.
    pub engine: &'a Identity,
    /// The rules of indexes that have none.
    pub default: &'a AccessRules,
    /// The names of the indexes that still have documents of deleted Indexes. `None` until the server has said so.
    pub left_behind: Option<&'a BTreeSet<String>>,
    /// The rules that the server has.
    pub handed_over: &'a RulesByIndex,
}

/// The rules of the Indexes of an engine. Of several that fill the same index, the oldest decides that has filled it. A
/// rule that the server does not know is left out, because one would make it refuse the whole file: no caller gets
/// access by it. An index whose rules find no room is closed to all callers. The rules of older Indexes come first, so
/// that the author of a new Index cannot displace the rules of others.
///
/// Who may write an Index can name any index of the engine. So an Index that has not filled its index, that is being
/// deleted, or beside whose documents are those of one that is or was deleted can only narrow the default. While the
/// server has not said whose documents it has, rules that it does not have yet let in nobody else.
pub fn rules_of(input: RulesInput<'_>, all: &[Arc<Index>]) -> RulesByIndex {
    let is_of_engine = |index: &&Arc<Index>| {
        index.metadata.namespace.as_ref() == Some(&input.engine.namespace)
            && index.spec.engine_ref.name == input.engine.name
    };
    let place = |index: &Index| (!has_filled(index), index.metadata.deletion_timestamp.is_some(), age(index));
    let mut first: BTreeMap<&str, &Index> = BTreeMap::new();
    for index in all.iter().filter(is_of_engine) {
        let found = first.entry(index.index_name()).or_insert(index);
        if place(index) < place(found) {
            *found = index;
        }
    }
    let mut oldest: Vec<(&str, &Index)> = first.into_iter().collect();
    oldest.sort_by_key(|(_, index)| age(index));
    let is_leaving = |index: &&Arc<Index>| index.metadata.deletion_timestamp.is_some() && has_filled(index);
    let leaving: BTreeSet<&str> =
        all.iter().filter(is_of_engine).filter(is_leaving).map(|index| index.index_name()).collect();
    let in_force = |name: &str, index: &Index| {
        let mut rules = normalised(index.spec.access.as_ref())?;
        rules.read.retain(|rule| is_access_rule(rule));
        rules.write.retain(|rule| is_access_rule(rule));
        let may_own = has_filled(index) && !leaving.contains(name);
        Some(match (input.left_behind, input.handed_over.get(name)) {
            (Some(left_behind), _) if may_own && !left_behind.contains(name) => rules,
            (None, Some(before)) if may_own && *before == rules => rules,
            (None, Some(before)) if may_own => narrowed(&rules, before),
            _ => narrowed(&rules, input.default),
        })
    };
    let mut bytes_left = MAX_BYTES;
    let rules = oldest.into_iter().filter_map(|(name, index)| Some((name, in_force(name, index)?)));
    rules
        .map(|(name, mut rules)| {
            let bytes = MARKS_BYTES + name.len() + bytes_of(&rules.read) + bytes_of(&rules.write);
            match bytes_left.checked_sub(bytes) {
                Some(left) => bytes_left = left,
                None => rules = AccessRules::default(),
            }
            (name.to_owned(), rules)
        })
        .collect()
}

/// Rules that let in whom both let in, as far as their texts show: a group may have a caller whom another rule names.
fn narrowed(rules: &AccessRules, default: &AccessRules) -> AccessRules {
    let readers = |rules: &AccessRules| [rules.read.as_slice(), rules.write.as_slice()].concat();
    AccessRules { read: common(&readers(rules), &readers(default)), write: common(&rules.write, &default.write) }
}

/// The rules of each list that the other one includes.
fn common(one: &[String], other: &[String]) -> Vec<String> {
    let within = |rules: &[String], wider: &[String]| -> Vec<String> {
        rules.iter().filter(|rule| wider.iter().any(|wide| includes(wide, rule))).cloned().collect()
    };
    let mut common = [within(one, other), within(other, one)].concat();
    common.sort();
    common.dedup();
    common
}

/// Whether everybody whom a rule lets in is let in by another one, which may be for all of a namespace or for
/// everybody.
fn includes(wide: &str, rule: &str) -> bool {
    let namespace = wide.strip_suffix('*').filter(|namespace| namespace.starts_with("serviceAccount:"));
    wide == "*" || wide == rule || namespace.is_some_and(|namespace| rule.starts_with(namespace))
}

/// The first rule that the server does not know, and what to write instead.
pub fn wrong_rule<'a>(rules: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let wrong = rules.into_iter().find(|rule| !is_access_rule(rule))?;
    Some(format!(
        "'{}' is not a valid rule: write a caller such as user:ann, a group such as group:staff, \
         serviceAccount:NAMESPACE/NAME, serviceAccount:NAMESPACE/*, or * for every known caller",
        quoted(wrong, MAX_QUOTED_RULE).escape_debug()
    ))
}

fn bytes_of(rules: &[String]) -> usize {
    rules.iter().map(|rule| MARKS_BYTES + rule.len()).sum()
}

/// The rules that the server has: those of its ConfigMap.
pub fn handed_over(config_map: Option<&ConfigMap>) -> RulesByIndex {
    #[derive(Default, Deserialize)]
    struct Handed {
        #[serde(default)]
        indexes: RulesByIndex,
    }
    let text = config_map.and_then(|config_map| config_map.data.as_ref()?.get(ACCESS_FILE));
    // Others may have edited it. It is written anew then.
    text.and_then(|text| serde_saphyr::from_str::<Handed>(text).ok()).unwrap_or_default().indexes
}

/// The text of `access.yaml`.
///
/// # Errors
///
/// [`BuildError`] when it cannot be serialised. No rules are known to cause this.
pub fn access_file(rules: &RulesByIndex, defaults: &Defaults) -> Result<String, BuildError> {
    let account = defaults.account.as_ref();
    let operator = account.map(|account| format!("serviceAccount:{}/{account}", defaults.operator_namespace));
    text_of(rules, operator)
}

fn text_of(rules: &RulesByIndex, operator: Option<String>) -> Result<String, BuildError> {
    let of = |(name, rules)| {
        let AccessRules { read, write }: &AccessRules = rules;
        (String::as_str(name), Rules { read, write })
    };
    serde_saphyr::to_string(&AccessFile { operator, indexes: rules.iter().map(of).collect() })
        .map_err(BuildError::Access)
}

#[cfg(test)]
mod tests;
