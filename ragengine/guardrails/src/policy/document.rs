//! Reads a policy's text.

use serde_json::{Map, Value};

use super::DEFAULT_BLOCK_MESSAGE;
use super::fields::{Fields, Problem, shortened, snake_case};
use crate::error::PolicyError;
use crate::limits::{MAX_BLOCK_MESSAGE_CHARS, MAX_SCANNERS};
use crate::scanner::{Scanner, types};
use crate::stage::Action;

/// What a policy says.
pub(super) struct Document {
    pub block_message: String,
    pub scanners: Vec<Scanner>,
}

pub(super) fn read(yaml: &str) -> Result<Document, PolicyError> {
    let object = serde_saphyr::from_str::<Map<String, Value>>(yaml)
        .map_err(|error| PolicyError::Yaml { reason: without_quotes(&error) })?;
    let mut fields = Fields::new(object).map_err(outside)?;
    let action = action(&mut fields, Action::Redact).map_err(outside)?;
    let block_message =
        fields.text("block_message").map_err(outside)?.unwrap_or_else(|| DEFAULT_BLOCK_MESSAGE.to_owned());
    if block_message.chars().count() > MAX_BLOCK_MESSAGE_CHARS {
        let reason = format!("has more than {MAX_BLOCK_MESSAGE_CHARS} characters: shorten it");
        return Err(outside(Problem::new("blockMessage", reason)));
    }
    let listed = fields.raw("scanners");
    fields.none_left().map_err(outside)?;
    let scanners = scanners(listed, action)?;
    Ok(Document { block_message, scanners })
}

/// The error without the lines of the policy that its usual form quotes.
fn without_quotes(error: &serde_saphyr::Error) -> String {
    error.without_snippet().to_string()
}

fn outside(problem: Problem) -> PolicyError {
    PolicyError::Field { field: problem.field, reason: problem.reason }
}

fn action(fields: &mut Fields, default: Action) -> Result<Action, Problem> {
    let default_name = match default {
        Action::Redact => "redact",
        Action::Block => "block",
    };
    Ok(match fields.choice("action", &["redact", "block"], default_name)? {
        "block" => Action::Block,
        _ => Action::Redact,
    })
}

fn scanners(listed: Option<Value>, action: Action) -> Result<Vec<Scanner>, PolicyError> {
    let problem = |reason: String| outside(Problem::new("scanners", reason));
    let listed = match listed {
        Some(Value::Array(listed)) if !listed.is_empty() => listed,
        None | Some(Value::Array(_)) => {
            let types = types().join(", ");
            let reason =
                format!("has no scanner, so nothing would be checked: add one ({types}), or disable guardrails");
            return Err(problem(reason));
        }
        Some(_) => return Err(problem("must be a list: begin each scanner with `- type:`".to_owned())),
    };
    if listed.len() > MAX_SCANNERS {
        return Err(problem(format!("has {} scanners, and at most {MAX_SCANNERS} are allowed", listed.len())));
    }
    listed.into_iter().enumerate().map(|(index, entry)| scanner(index, entry, action)).collect()
}

fn scanner(index: usize, entry: Value, action: Action) -> Result<Scanner, PolicyError> {
    let mut name = "?".to_owned();
    read_scanner(entry, action, &mut name).map_err(|problem| PolicyError::Scanner {
        index,
        name,
        field: problem.field,
        reason: problem.reason,
    })
}

/// Reads one scanner, and sets `name` as soon as it is known.
fn read_scanner(entry: Value, default: Action, name: &mut String) -> Result<Scanner, Problem> {
    let Value::Object(object) = entry else {
        return Err(Problem::new("type", "is missing: a scanner is an object that begins with `type:`"));
    };
    let mut fields = Fields::new(object)?;
    let known = || types().join(", ");
    let written = fields
        .text("type")
        .map_err(|_| Problem::new("type", format!("must be one of {}", known())))?
        .ok_or_else(|| Problem::new("type", format!("is missing: write one of {}", known())))?;
    *name = shortened(&written);
    let action = action(&mut fields, default)?;
    let scanner = Scanner::build(&snake_case(&written), action, &mut fields)
        .ok_or_else(|| Problem::new("type", format!("is unknown: write one of {}", known())))??;
    fields.none_left()?;
    Ok(scanner)
}
