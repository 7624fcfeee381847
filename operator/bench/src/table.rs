use std::io::Write as _;

/// One row of the table.
pub struct Row {
    name: String,
    measured: f64,
    limit: Option<f64>,
}

impl Row {
    /// A measured value, with an upper limit if there is one.
    pub fn new(name: impl Into<String>, measured: f64, limit: Option<f64>) -> Self {
        Self { name: name.into(), measured, limit }
    }

    /// Whether the value does not exceed its limit.
    pub fn is_within_limit(&self) -> bool {
        self.limit.is_none_or(|limit| self.measured <= limit)
    }
}

/// Prints the table as Markdown.
pub fn print(rows: &[Row]) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n| operator | measured | at most |\n|---|---|---|")?;
    for row in rows {
        let limit = row.limit.map(|limit| limit.to_string()).unwrap_or_default();
        let missed = if row.is_within_limit() { "" } else { " (missed)" };
        writeln!(output, "| {} | {:.1}{missed} | {limit} |", row.name, row.measured)?;
    }
    Ok(())
}
