//! What is printed.

use std::ops::RangeInclusive;

use crate::statistics::{median, percentile};

const COLUMNS: usize = 7;

const HEAD: [&str; COLUMNS] = ["row", "measured", "floor", "ratio", "range", "limit", "verdict"];

/// The columns with numbers.
const NUMBERS: RangeInclusive<usize> = 1..=4;

/// What a row must reach: its ratio, or what was measured when there is no floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is, with its unit.
    pub name: String,
    /// The server's figure.
    pub measured: f64,
    /// What it is compared with.
    pub floor: Option<f64>,
    /// The median of the turns' ratios.
    pub ratio: Option<f64>,
    /// The lowest and the highest of the turns' ratios.
    pub spread: Option<(f64, f64)>,
    /// What it must reach. None: it informs only.
    pub limit: Option<Limit>,
}

impl Row {
    /// A figure that nothing is compared with.
    pub fn figure(name: &str, measured: f64) -> Self {
        Self { name: name.to_owned(), measured, floor: None, ratio: None, spread: None, limit: None }
    }

    /// The same with a limit.
    pub fn with_limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same under another name.
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

/// Something measured in turns with what it is compared with.
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

    /// Its line: the medians of all three.
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

/// The rows so far.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row, and shows it, so that a long run can be followed.
    pub fn push(&mut self, row: Row) {
        eprintln!("  {}", row.cells().join("  "));
        self.rows.push(row);
    }

    /// How many limits were missed.
    pub fn misses(&self) -> usize {
        self.rows.iter().filter(|row| row.is_reached() == Some(false)).count()
    }

    /// In columns.
    pub fn plain(&self) -> String {
        self.lines().iter().fold(String::new(), |text, cells| text + cells.join("  ").trim_end() + "\n")
    }

    /// As Markdown.
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

    /// Those with a limit first, every cell as wide as its column.
    fn lines(&self) -> Vec<Vec<String>> {
        let (limited, informative): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|row| row.limit.is_some());
        let rows = limited.into_iter().chain(informative).map(Row::cells);
        let lines: Vec<[String; COLUMNS]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows).collect();
        let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default();
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        let pad = |(column, cell): (usize, &String)| match NUMBERS.contains(&column) {
            true => format!("{cell:>width$}", width = widths[column]),
            false => format!("{cell:<width$}", width = widths[column]),
        };
        lines.iter().map(|cells| cells.iter().enumerate().map(pad).collect()).collect()
    }
}

/// Three digits that count.
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
