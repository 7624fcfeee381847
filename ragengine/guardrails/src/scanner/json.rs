use std::sync::Arc;

use serde_json::Value;

use super::{Verdict, Whole, Work};
use crate::policy::fields::{Fields, Problem};

/// Requires valid JSON.
pub(crate) struct Json {
    /// The elements that an array or object at the top must have at least.
    required_elements: u64,
    /// Whether a JSON text that is cut off or in a code block is made valid.
    repair: bool,
}

/// `json`: `required_elements`, `repair`.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let required_elements = fields.count("required_elements", 0)?;
    let repair = fields.flag("repair", true)?;
    Ok(Work::Whole(Arc::new(Whole::Json(Json { required_elements, repair }))))
}

impl Json {
    pub fn judge(&self, text: &str) -> Verdict {
        if self.accepts(text) {
            return Verdict::Pass;
        }
        if self.repair && serde_json::from_str::<Value>(text).is_err() {
            let mended = completed(without_fence(text.trim()));
            if self.accepts(&mended) {
                return Verdict::Mend(mended);
            }
        }
        Verdict::Refuse
    }

    fn accepts(&self, text: &str) -> bool {
        // The parser refuses what is nested more than 127 deep, which might exhaust a reader's stack.
        let elements = match serde_json::from_str(text) {
            Ok(Value::Array(elements)) => elements.len(),
            Ok(Value::Object(members)) => members.len(),
            Ok(_) => 0,
            Err(_) => return false,
        };
        elements as u64 >= self.required_elements
    }
}

/// The inside of a Markdown code block.
fn without_fence(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```") else { return text };
    let inside = inside.split_once('\n').map_or(inside, |(_, rest)| rest);
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// The text with the quotes and brackets closed that are open at its end. A comma at the end is removed.
fn completed(text: &str) -> String {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for char in text.chars() {
        match char {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                open.pop();
            }
            _ => {}
        }
    }
    let mut completed = text.to_owned();
    if escaped {
        completed.pop();
    }
    if in_string {
        completed.push('"');
    } else {
        completed.truncate(completed.trim_end().trim_end_matches(',').len());
    }
    completed.extend(open.iter().rev());
    completed
}

#[cfg(test)]
mod tests {
    use super::completed;

    #[test]
    fn what_is_open_gets_closed() {
        for (text, expected) in [
            (r#"{"a": 1"#, r#"{"a": 1}"#),
            (r#"{"a": [1, 2,"#, r#"{"a": [1, 2]}"#),
            (r#"["a", "b"#, r#"["a", "b"]"#),
            (r#"["a\"#, r#"["a"]"#),
            (r#"["}"#, r#"["}"]"#),
            ("no JSON", "no JSON"),
        ] {
            assert_eq!(completed(text), expected);
        }
    }
}
