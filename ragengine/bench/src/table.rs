//! The table of results.

use std::ops::RangeInclusive;

use crate::statistics::{median, percentile};

const COLUMNS: usize = 7;

const HEAD: [&str; COLUMNS] = ["row", "measured", "floor", "ratio", "range", "limit", "verdict"];

/// The columns with numbers.
const NUMBERS: RangeInclusive<usize> = 1..=4;

/// Limit of a row: of its ratio, or of the measured value if there is no floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Upper limit, inclusive.
    AtMost(f64),
    /// Lower limit, inclusive.
    AtLeast(f64),
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured, with the unit.
    pub name: String,
    /// Value of the server.
    pub measured: f64,
    /// Value of the floor, if there is one.
    pub floor: Option<f64>,
    /// Median of the ratios of all turns.
    pub ratio: Option<f64>,
    /// Lowest and highest ratio of all turns.
    pub spread: Option<(f64, f64)>,
    /// Limit to reach. `None`: for information only.
    pub limit: Option<Limit>,
}

impl Row {
    /// A measured value without floor and limit.
    pub fn figure(name: &str, measured: f64) -> Self {
        Self { name: name.to_owned(), measured, floor: None, ratio: None, spread: None, limit: None }
    }

    /// Sets the limit.
    pub fn with_limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Changes the name.
    pub fn renamed(self, rename: impl Fn(&str) -> String) -> Self {
        Self { name: rename(&self.name), ..self }
    }

    fn is_reached(&self) -> Option<bool> {
        let value = self.ratio.unwrap_or(self.measured);
        Some(match self.limit? {
            Limit::AtMost(limit) => value <= limit,
            Limit::AtLeast(limit) => value >= limit,
        })
    }

    fn cells(&self) -> [String; COLUMNS] {
        let optional = |value: Option<f64>| value.map_or("–".to_owned(), number);
        let limit = match self.limit {
            None => "–".to_owned(),
            Some(Limit::AtMost(limit)) => format!("at most {limit}"),
            Some(Limit::AtLeast(limit)) => format!("at least {limit}"),
        };
        let verdict = match self.is_reached() {
            None => "–",
            Some(true) => "reached",
            Some(false) => "MISSED",
        };
        let (floor, ratio) = (optional(self.floor), optional(self.ratio));
        let spread = self.spread.map_or("–".to_owned(), |(low, high)| format!("{}-{}", number(low), number(high)));
        [self.name.clone(), number(self.measured), floor, ratio, spread, limit, verdict.to_owned()]
    }
}

/// Values of the server and of the floor, measured in turns.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    measured: Vec<f64>,
    floor: Vec<f64>,
}

impl Comparison {
    /// Adds a turn.
    pub fn push(&mut self, measured: f64, floor: f64) {
        self.measured.push(measured);
        self.floor.push(floor);
    }

    /// The row with the medians of measured values, floor values and ratios.
    pub fn row(&self, name: &str) -> Row {
        let ratios: Vec<f64> =
            self.measured.iter().zip(&self.floor).map(|(measured, floor)| measured / floor).collect();
        Row {
            name: name.to_owned(),
            measured: median(&self.measured),
            floor: Some(median(&self.floor)),
            ratio: Some(median(&ratios)),
            spread: Some((percentile(&ratios, 0.0), percentile(&ratios, 1.0))),
            limit: None,
        }
    }
}

/// All rows measured so far.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row and prints it to standard error as progress.
    pub fn push(&mut self, row: Row) {
        eprintln!("  {}", row.cells().join("  "));
        self.rows.push(row);
    }

    /// Number of missed limits.
    pub fn misses(&self) -> usize {
        self.rows.iter().filter(|row| row.is_reached() == Some(false)).count()
    }

    /// The table as plain text in columns.
    pub fn plain(&self) -> String {
        self.lines().iter().fold(String::new(), |text, cells| text + cells.join("  ").trim_end() + "\n")
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let mut lines = self.lines();
        let dashes = |(column, cell): (usize, &String)| {
            let width = cell.chars().count();
            if NUMBERS.contains(&column) { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(width) }
        };
        let rule = lines[0].iter().enumerate().map(dashes).collect::<Vec<_>>();
        lines.insert(1, rule);
        lines.iter().fold(String::new(), |text, cells| text + "| " + &cells.join(" | ") + " |\n")
    }

    /// The padded cells of all rows, rows with a limit first.
    fn lines(&self) -> Vec<Vec<String>> {
        let (limited, informative): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|row| row.limit.is_some());
        let rows = limited.into_iter().chain(informative).map(Row::cells);
        let lines: Vec<[String; COLUMNS]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows).collect();
        let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default();
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        let pad = |(column, cell): (usize, &String)| {
            let width = widths[column];
            if NUMBERS.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        lines.iter().map(|cells| cells.iter().enumerate().map(pad).collect()).collect()
    }
}

/// Formats a number with three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests;
