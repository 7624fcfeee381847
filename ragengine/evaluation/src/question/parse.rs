//! Reads the file. Each error names the line.

use std::collections::HashSet;

use super::{Kind, Question};

/// Most questions of a file.
pub const MAX_QUESTIONS: usize = 100_000;

/// The questions cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// A line is not a question.
    #[error("line {line} is not a question: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file has no questions.
    #[error("there are no questions: each line must be a JSON object with id, kind, query and relevant")]
    Empty,
    /// The file has too many questions.
    #[error("there are more than {MAX_QUESTIONS} questions")]
    TooMany,
}

/// Reads questions, one from each line. Blank lines are skipped.
///
/// # Errors
///
/// When a line is not a valid question, or there are none or too many.
pub fn parse(text: &str) -> Result<Vec<Question>, QuestionError> {
    let mut ids = HashSet::new();
    let mut questions = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at_line = |reason: String| QuestionError::Line { line: index + 1, reason };
        let question: Question = serde_json::from_str(line).map_err(|error| at_line(without_place(&error)))?;
        check(&question).map_err(|reason| at_line(reason.to_owned()))?;
        if !ids.insert(question.id.clone()) {
            return Err(at_line(format!("the id '{}' is repeated", question.id)));
        }
        questions.push(question);
        if questions.len() > MAX_QUESTIONS {
            return Err(QuestionError::TooMany);
        }
    }
    if questions.is_empty() { Err(QuestionError::Empty) } else { Ok(questions) }
}

/// The message without serde's line number, which is always 1.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((reason, _)) => format!("{reason} (column {})", error.column()),
        None => message,
    }
}

fn check(question: &Question) -> Result<(), &'static str> {
    let is_blank = |text: &String| text.trim().is_empty();
    match question.kind {
        _ if is_blank(&question.id) => Err("the id is empty"),
        _ if is_blank(&question.query) => Err("the query is empty"),
        _ if question.relevant.iter().any(is_blank) => Err("an id in 'relevant' is empty"),
        Kind::Unanswerable if !question.relevant.is_empty() => {
            Err("an unanswerable question cannot have relevant documents")
        }
        Kind::KnownItem | Kind::Paraphrase if question.relevant.is_empty() => {
            Err("'relevant' must name at least one document; a question without any has the kind 'unanswerable'")
        }
        _ if has_repeated(&question.relevant) => Err("an id in 'relevant' is repeated"),
        _ => Ok(()),
    }
}

fn has_repeated(ids: &[String]) -> bool {
    let mut seen = HashSet::new();
    !ids.iter().all(|id| seen.insert(id))
}

#[cfg(test)]
mod tests {
    use super::super::Split;
    use super::*;

    const GOOD: &str = r#"{"id":"a","kind":"known-item","split":"tune","query":"q","relevant":["d"]}"#;

    #[test]
    fn questions_are_read_and_blank_lines_are_skipped() {
        let questions = parse(&format!("{GOOD}\n\n{}\n", r#"{"id":"b","kind":"unanswerable","query":"q"}"#)).unwrap();
        assert_eq!(questions.len(), 2);
        assert_eq!((questions[0].split, questions[0].relevant.as_slice()), (Split::Tune, &["d".to_owned()][..]));
        assert_eq!((questions[1].split, questions[1].kind), (Split::Report, Kind::Unanswerable));
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong() {
        for (line, words) in [
            ("{", "EOF while parsing an object (column 1)"),
            (r#"{"id":"b","kind":"hard","query":"q","relevant":["d"]}"#, "unknown variant `hard`, expected one of"),
            (r#"{"id":"b","kind":"paraphrase","query":" ","relevant":["d"]}"#, "the query is empty"),
            (r#"{"id":"b","kind":"paraphrase","query":"q","relevant":[]}"#, "at least one document"),
            (r#"{"id":"b","kind":"paraphrase","query":"q","relevant":["d","d"]}"#, "is repeated"),
            (r#"{"id":"b","kind":"unanswerable","query":"q","relevant":["d"]}"#, "cannot have relevant documents"),
            (r#"{"id":"b","kind":"paraphrase","query":"q","relevant":["d"],"x":1}"#, "unknown field `x`"),
            (GOOD, "the id 'a' is repeated"),
        ] {
            let error = parse(&format!("{GOOD}\n\n{line}\n")).unwrap_err().to_string();
            assert!(error.starts_with("line 3 is not a question: ") && error.contains(words), "{error}");
        }
        assert_eq!(parse(" \n"), Err(QuestionError::Empty));
    }
}
