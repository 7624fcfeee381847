use std::sync::Arc;

use super::Work;
use crate::patterns::{Case, Patterns, Rule, parse};
use crate::policy::fields::{Fields, Problem};
use crate::redaction::Replacement;

pub(super) const TYPE: &str = "invisible_text";

/// Format characters (among them zero-width characters, controls of direction, and tags), private use, and code points
/// without a character; control characters except tab and line breaks; blank letters; variation selectors, except one
/// that chooses between text and emoji. The prefixed signs of Arabic, Syriac and Kaithi are format characters, but
/// visible.
const INVISIBLE: &str = concat!(
    r"(?:[[\p{Cf}\p{Co}\p{Cn}]--[\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}]]",
    r"|[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]",
    r"|[\u{115F}\u{1160}\u{180B}-\u{180F}\u{3164}\u{FFA0}]",
    r"|[\u{FE00}-\u{FE0D}\u{E0100}-\u{E01EF}]",
    r"|[\u{FE0E}\u{FE0F}]{2})",
);

/// `invisible_text`: no fields.
pub(super) fn build(_: &mut Fields) -> Result<Work, Problem> {
    let problem = |error: String| Problem::new("type", error);
    let hir = parse(INVISIBLE, Case::Sensitive).map_err(problem)?;
    let patterns = Patterns::new(vec![Rule::new(hir, Replacement::Text(""))]).map_err(problem)?;
    Ok(Work::Patterns(Arc::new(patterns)))
}
