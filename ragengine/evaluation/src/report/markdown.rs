//! The figures as Markdown tables.

use std::fmt::Write as _;

use super::{Heading, figure, percent};
use crate::summary::{Group, Measure, Summary, ThresholdRow};

/// The figures as Markdown, for a page of documentation or a terminal.
pub fn markdown(heading: &Heading, summary: &Summary) -> String {
    let mut text = facts(heading, summary);
    for group in &summary.groups {
        table(&mut text, group);
    }
    thresholds(&mut text, &summary.thresholds);
    text
}

/// A list, because a line with all of them would be long.
fn facts(heading: &Heading, summary: &Summary) -> String {
    let mut text = format!("- Index: {}\n", cell(&heading.index));
    for (name, value) in &heading.facts {
        let _ = writeln!(text, "- {}: {}", cell(name), cell(value));
    }
    let (answerable, unanswerable) = (summary.answerable, summary.unanswerable);
    let _ = writeln!(
        text,
        "- {answerable} questions with an answer, {unanswerable} without\n\nIn brackets: the 95% confidence interval."
    );
    text
}

fn table(text: &mut String, group: &Group) {
    let name = if group.name == "all" { "All questions" } else { &group.name };
    let _ = writeln!(text, "\n**{}** ({} questions)\n", cell(name), group.questions);
    let measures: String = Measure::ALL.iter().map(|measure| format!(" {measure} |")).collect();
    let _ = writeln!(text, "| retrieval |{measures}\n|---|{}", "---|".repeat(Measure::ALL.len()));
    for row in &group.rows {
        let figures: String = row.figures.iter().map(|estimate| format!(" {} |", figure(estimate))).collect();
        let _ = writeln!(text, "| {} |{figures}", cell(&row.configuration));
    }
}

fn thresholds(text: &mut String, rows: &[ThresholdRow]) {
    if rows.is_empty() {
        return;
    }
    text.push_str(
        "\n**Share of questions that get any context**\n\n| retrieval | threshold | with an answer | without |\n",
    );
    text.push_str("|---|---|---|---|\n");
    for row in rows {
        let shares = [&row.answerable, &row.unanswerable].map(|share| percent(share.as_ref())).join(" | ");
        let _ = writeln!(text, "| {} | {} | {shares} |", cell(&row.configuration), cell(&row.threshold));
    }
}

/// Text that cannot end a table's cell or start markup.
fn cell(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\r' | '\n' => shown.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' => shown.extend(['\\', character]),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::html::tests::{heading, summary};
    use super::*;

    #[test]
    fn tables_have_a_row_for_each_configuration() {
        let text = markdown(&heading(), &summary());
        let expected = "\
- Index: docs\\|1
- Questions: a\\_b.jsonl
- 2 questions with an answer, 1 without

In brackets: the 95% confidence interval.

**All questions** (2 questions)

| retrieval | recall@1 | recall@5 | recall@10 | MRR@10 | nDCG@10 |
|---|---|---|---|---|---|
| dense\\<b\\> | 0.500 (0.250 to 0.750) | 0.500 (0.250 to 0.750) | 0.500 (0.250 to 0.750) | 0.500 (0.250 to 0.750) | \
0.500 (0.250 to 0.750) |

**Share of questions that get any context**

| retrieval | threshold | with an answer | without |
|---|---|---|---|
| dense\\<b\\> | fixed | 50% (25% to 75%) | not available |
";
        assert_eq!(text, expected);
    }
}
