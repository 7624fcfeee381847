//! Whether a context has the form of one.

use super::SEPARATOR;

/// A context with more characters is very long.
const MAX_CHARS: usize = 10_000;

/// What is wrong with a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It has no question or no answer.
    #[error("Context missing Q&A format")]
    NoQuestionOrAnswer,
    /// It has this many characters.
    #[error("Context very long: {0} chars")]
    VeryLong(usize),
    /// It has two questions and no separator.
    #[error("Context missing proper separators")]
    NoSeparators,
}

/// Checks the form of a context. An empty one is valid.
///
/// # Errors
///
/// The first [`Invalid`] that holds, for the log on level WARN.
pub fn validate_context(context: &str) -> Result<(), Invalid> {
    let chars = context.chars().count();
    if context.is_empty() {
        Ok(())
    } else if !context.contains("Q:") || !context.contains("A:") {
        Err(Invalid::NoQuestionOrAnswer)
    } else if chars > MAX_CHARS {
        Err(Invalid::VeryLong(chars))
    } else if !context.contains(SEPARATOR) && context.matches("Q:").nth(1).is_some() {
        Err(Invalid::NoSeparators)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problem_is_named() {
        let of_chars = |chars: usize| format!("Q: x\nA: {}", "ü".repeat(chars - 8));
        for (context, problem) in [
            ("", None),
            ("Q: x\nA: y", None),
            ("Q: x\nA: y\n\n---\n\nQ: x\nA: y", None),
            ("Q: x", Some("Context missing Q&A format")),
            ("A: y", Some("Context missing Q&A format")),
            (" ", Some("Context missing Q&A format")),
            ("Q: x\nA: y\n---\nQ: x\nA: y", Some("Context missing proper separators")),
            ("Q: x\nA: y\nQ:", Some("Context missing proper separators")),
            (&of_chars(10_000), None),
            (&of_chars(10_001), Some("Context very long: 10001 chars")),
            (&"x".repeat(10_001), Some("Context missing Q&A format")),
        ] {
            let found = validate_context(context).err().map(|problem| problem.to_string());
            assert_eq!(found.as_deref(), problem, "{context:.40}");
        }
    }
}
