use std::collections::HashMap;

use crate::{Limits, ParseError, Parsed, ParsedDocument, Problem, Stopped};

/// Maximum length of a row's key in bytes.
const MAX_KEY_BYTES: usize = 200;
/// Maximum number of problems of one file that are reported. The others are only counted.
const MAX_PROBLEMS: usize = 100;

/// Passes on the rows of a file. Checks that keys are unique and limits the number of rows. Invalid rows do not stop
/// the others.
pub(crate) struct Rows<'a> {
    limits: &'a Limits,
    emit: &'a mut dyn FnMut(Parsed) -> Result<(), Stopped>,
    /// The number of the first row with each key.
    keys: HashMap<String, u64>,
    /// The problems before the first valid row. If there is no valid row, the first one becomes the error of the file.
    waiting: Vec<Problem>,
    problems: usize,
    /// The name of a row in messages: `line` or `row`.
    unit: &'static str,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(
        unit: &'static str,
        limits: &'a Limits,
        emit: &'a mut dyn FnMut(Parsed) -> Result<(), Stopped>,
    ) -> Self {
        Self { limits, emit, keys: HashMap::new(), waiting: Vec::new(), problems: 0, unit }
    }

    /// Checks and passes on a row, or the error of an invalid row. The default key is the row's number.
    pub(crate) fn take(&mut self, number: u64, row: Result<ParsedDocument, String>) -> Result<(), ParseError> {
        match row.and_then(|document| self.check(number, document)) {
            Ok((key, document)) => self.emit_document(number, key, document),
            Err(message) => self.problem(number, message),
        }
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), ParseError> {
        if self.keys.is_empty() {
            return Err(match self.waiting.into_iter().next() {
                Some(problem) => ParseError::NoRow(problem),
                None => ParseError::Empty,
            });
        }
        let unreported = self.problems.saturating_sub(MAX_PROBLEMS);
        if unreported > 0 {
            let message = format!("{unreported} more {}s cannot be read", self.unit);
            (self.emit)(Parsed::Problem(Problem { place: "later rows".to_owned(), message }))?;
        }
        Ok(())
    }

    fn check(&self, number: u64, document: ParsedDocument) -> Result<(String, ParsedDocument), String> {
        let Self { limits, unit, .. } = self;
        if document.text.trim().is_empty() {
            return Err("it contains no text".to_owned());
        }
        if document.text.contains('\0') {
            return Err("it contains zero bytes".to_owned());
        }
        if document.text.len() > limits.max_document_bytes {
            return Err(format!("its text is longer than {} bytes", limits.max_document_bytes));
        }
        let key = document.key.clone().unwrap_or_else(|| number.to_string());
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(format!("its id must have 1 to {MAX_KEY_BYTES} bytes"));
        }
        if key.contains(char::is_control) {
            return Err("its id holds a control character".to_owned());
        }
        if let Some(first) = self.keys.get(&key) {
            return Err(format!("its id '{key}' is that of {unit} {first}"));
        }
        Ok((key, document))
    }

    fn emit_document(&mut self, number: u64, key: String, document: ParsedDocument) -> Result<(), ParseError> {
        let max_documents = self.limits.max_documents;
        if self.keys.len() >= max_documents {
            return Err(ParseError::TooManyDocuments { max_documents });
        }
        for problem in self.waiting.drain(..) {
            (self.emit)(Parsed::Problem(problem))?;
        }
        self.keys.insert(key.clone(), number);
        Ok((self.emit)(Parsed::Document(ParsedDocument { key: Some(key), ..document }))?)
    }

    fn problem(&mut self, number: u64, message: String) -> Result<(), ParseError> {
        self.problems += 1;
        if self.problems > MAX_PROBLEMS {
            return Ok(());
        }
        let problem = Problem { place: format!("{} {number}", self.unit), message };
        if self.keys.is_empty() {
            self.waiting.push(problem);
            return Ok(());
        }
        Ok((self.emit)(Parsed::Problem(problem))?)
    }
}

#[cfg(test)]
mod tests;
