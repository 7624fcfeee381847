mod allowance;

use std::io::{BufReader, Read};

use allowance::Allowance;
use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use crate::metadata::{Metadata, bounded, put_date, put_title, put_url};
use crate::rows::Rows;
use crate::{Limits, ParseError, Parsed, ParsedDocument, Stopped};

/// Maximum number of columns of a table.
const MAX_COLUMNS: usize = 1_000;
/// Maximum number of columns that are stored in a document's metadata.
const MAX_METADATA_COLUMNS: usize = 32;
/// Size of the read buffer in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The separator between columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// A semicolon if the header row has one and no comma, as in spreadsheets of many countries, otherwise a comma.
    CommaOrSemicolon,
    Tab,
}

/// The columns of a table, by the names in its header row.
#[derive(Debug, Default, PartialEq, Eq)]
struct Columns {
    names: Vec<String>,
    text: Option<usize>,
    id: Option<usize>,
    title: Option<usize>,
    url: Option<usize>,
    date: Option<usize>,
}

/// Parses a table: each row after the header row is a document.
pub(crate) fn parse(
    reader: impl Read,
    separator: Separator,
    limits: &Limits,
    emit: &mut dyn FnMut(Parsed) -> Result<(), Stopped>,
) -> Result<(), ParseError> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
    let delimiter = delimiter(&mut reader, separator)?;
    let (reader, allowance) = Allowance::new(reader);
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter).has_headers(false).buffer_capacity(BUFFER_BYTES).from_reader(reader);
    // Without the allowance, a row with an unclosed quotation mark would extend to the end of the file.
    let renew = || allowance.renew(limits.max_document_bytes + 2 * BUFFER_BYTES);

    let mut record = StringRecord::new();
    renew();
    if !reader.read_record(&mut record).map_err(|error| malformed(&error))? {
        return Err(ParseError::Empty);
    }
    let columns = Columns::of(&record)?;
    let mut rows = Rows::new("row", limits, emit);
    for number in 1_u64.. {
        renew();
        match reader.read_record(&mut record) {
            Ok(true) => rows.take(number, Ok(columns.document(&record)))?,
            Ok(false) => break,
            Err(error) if is_of_one_row(&error) => rows.take(number, Err(message(&error)))?,
            Err(error) => return Err(malformed(&error)),
        }
    }
    rows.finish()
}

fn delimiter(reader: &mut BufReader<impl Read>, separator: Separator) -> Result<u8, ParseError> {
    use std::io::BufRead;
    if separator == Separator::Tab {
        return Ok(b'\t');
    }
    let start = reader.fill_buf()?;
    let names = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |byte| names.contains(&byte);
    Ok(if has(b';') && !has(b',') { b';' } else { b',' })
}

impl Columns {
    fn of(names: &StringRecord) -> Result<Self, ParseError> {
        if names.len() > MAX_COLUMNS {
            return Err(ParseError::Malformed(format!("it has more than {MAX_COLUMNS} columns")));
        }
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let find = |wanted: &[&str]| {
            wanted.iter().find_map(|wanted| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)))
        };
        Ok(Self {
            text: find(&["text", "content", "body"]),
            id: find(&["id", "doc_id"]),
            title: find(&["title"]),
            url: find(&["url"]),
            date: find(&["date"]),
            names,
        })
    }

    fn document(&self, record: &StringRecord) -> ParsedDocument {
        let field = |column: Option<usize>| record.get(column?).map(str::trim).filter(|value| !value.is_empty());
        let mut metadata = Metadata::new();
        let text = match self.text {
            Some(column) => {
                metadata = self.others(record);
                record.get(column).unwrap_or_default().to_owned()
            }
            None => self.lines(record),
        };
        if let Some(title) = field(self.title) {
            put_title(&mut metadata, title);
        }
        if let Some(url) = field(self.url) {
            put_url(&mut metadata, url);
        }
        if let Some(date) = field(self.date) {
            put_date(&mut metadata, date);
        }
        ParsedDocument { key: field(self.id).map(str::to_owned), text, metadata }
    }

    /// Formats every column that has a value as `name: value`.
    fn lines(&self, record: &StringRecord) -> String {
        let lines: Vec<String> = self
            .values(record)
            .filter(|(column, _, _)| Some(*column) != self.id)
            .map(|(_, name, value)| format!("{name}: {value}"))
            .collect();
        lines.join("\n")
    }

    /// The metadata from the other columns.
    fn others(&self, record: &StringRecord) -> Metadata {
        let own = [self.text, self.id, self.title, self.url, self.date];
        self.values(record)
            .filter(|(column, name, _)| !own.contains(&Some(*column)) && !name.is_empty())
            .take(MAX_METADATA_COLUMNS)
            .filter_map(|(_, name, value)| Some((name.to_owned(), bounded(Value::from(value))?)))
            .collect()
    }

    fn values<'a>(&'a self, record: &'a StringRecord) -> impl Iterator<Item = (usize, &'a str, &'a str)> {
        let values = record.iter().map(str::trim);
        let columns = self.names.iter().map(String::as_str).zip(values).enumerate();
        columns.filter(|(_, (_, value))| !value.is_empty()).map(|(column, (name, value))| (column, name, value))
    }
}

/// Whether the error affects only one row, so that later rows can be read.
fn is_of_one_row(error: &csv::Error) -> bool {
    matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. } | csv::ErrorKind::Utf8 { .. })
}

fn message(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} columns, but the header row has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not text in UTF-8".to_owned(),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn malformed(error: &csv::Error) -> ParseError {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => ParseError::NotText("its header row is not UTF-8".to_owned()),
        _ => ParseError::Malformed(message(error)),
    }
}

#[cfg(test)]
mod tests;
