use std::io::Write as _;

/// One line of the table.
pub struct Row {
    what: String,
    measured: f64,
    at_most: Option<f64>,
}

impl Row {
    /// What was measured, and what it may be at most, where there is a limit.
    pub fn new(what: impl Into<String>, measured: f64, at_most: Option<f64>) -> Self {
        Self { what: what.into(), measured, at_most }
    }

    /// Whether it is within its limit.
    pub fn is_kept(&self) -> bool {
        self.at_most.is_none_or(|at_most| self.measured <= at_most)
    }
}

/// Prints the table, in Markdown.
pub fn print(rows: &[Row]) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n| the operator | measured | at most |\n|---|---|---|")?;
    for row in rows {
        let at_most = row.at_most.map(|at_most| at_most.to_string()).unwrap_or_default();
        let missed = if row.is_kept() { "" } else { " (missed)" };
        writeln!(output, "| {} | {:.1}{missed} | {at_most} |", row.what, row.measured)?;
    }
    Ok(())
}
