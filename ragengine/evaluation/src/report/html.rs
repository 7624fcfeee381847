//! The figures as one HTML file with plots. It needs no other file and no network.

use std::fmt::Write as _;

use super::plot::{PlotError, Series, bars};
use super::{Heading, figure, percent};
use crate::interval::Estimate;
use crate::summary::{Group, Measure, Summary, ThresholdRow};

const STYLE: &str = "\
body{font-family:sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #bbb;padding:.3rem .6rem;text-align:left}\
th{background:#f2f2f2}svg{max-width:100%;height:auto}small{color:#666;white-space:nowrap}";

/// The report as HTML.
///
/// # Errors
///
/// When a plot cannot be drawn.
pub fn html(heading: &Heading, summary: &Summary) -> Result<String, PlotError> {
    let title = format!("Retrieval from {}", escaped(&heading.index));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<ul>\n"
    );
    for (name, value) in &heading.facts {
        let _ = writeln!(page, "<li>{}: {}</li>", escaped(name), escaped(value));
    }
    let _ = writeln!(
        page,
        "<li>{} questions with an answer, {} without</li>\n</ul>\n<p>Lines in the plots, and brackets in the tables, are \
         95% confidence intervals.</p>",
        summary.answerable, summary.unanswerable
    );
    for group in &summary.groups {
        let _ = write!(page, "<h2>{} ({} questions)</h2>\n{}", escaped(&group.name), group.questions, measures(group)?);
        page.push_str(&table(group));
    }
    thresholds(&mut page, &summary.thresholds)?;
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

/// A plot with the figures of a group: a bar for each configuration, side by side for each measure.
fn measures(group: &Group) -> Result<String, PlotError> {
    let names: Vec<String> = Measure::ALL.iter().map(ToString::to_string).collect();
    let series: Vec<Series> = group
        .rows
        .iter()
        .map(|row| Series { name: row.configuration.clone(), values: row.figures.iter().copied().map(Some).collect() })
        .collect();
    bars(&names, &series)
}

fn table(group: &Group) -> String {
    let measures: String = Measure::ALL.iter().map(|measure| format!("<th>{measure}</th>")).collect();
    let mut text = format!("<table>\n<tr><th>retrieval</th>{measures}</tr>\n");
    for row in &group.rows {
        let figures: String = row.figures.iter().map(|estimate| cell(&figure(estimate))).collect();
        let _ = writeln!(text, "<tr><td>{}</td>{figures}</tr>", escaped(&row.configuration));
    }
    text + "</table>\n"
}

/// The figure, with its interval in small letters.
fn cell(figure: &str) -> String {
    match figure.split_once(" (") {
        Some((mean, interval)) => format!("<td>{} <small>({}</small></td>", escaped(mean), escaped(interval)),
        None => format!("<td>{}</td>", escaped(figure)),
    }
}

fn thresholds(page: &mut String, rows: &[ThresholdRow]) -> Result<(), PlotError> {
    if rows.is_empty() {
        return Ok(());
    }
    page.push_str("<h2>Share of questions that get any context</h2>\n");
    let series = |name: &str, share: fn(&ThresholdRow) -> Option<Estimate>| Series {
        name: name.to_owned(),
        values: rows.iter().map(share).collect(),
    };
    if rows.iter().any(|row| row.answerable.is_some() || row.unanswerable.is_some()) {
        let names: Vec<String> = rows.iter().map(|row| format!("{}, {}", row.configuration, row.threshold)).collect();
        let shares = [series("with an answer", |row| row.answerable), series("without", |row| row.unanswerable)];
        page.push_str(&bars(&names, &shares)?);
    }
    page.push_str("<table>\n<tr><th>retrieval</th><th>threshold</th><th>with an answer</th><th>without</th></tr>\n");
    for row in rows {
        let shares: String =
            [&row.answerable, &row.unanswerable].iter().map(|share| cell(&percent(share.as_ref()))).collect();
        let (configuration, threshold) = (escaped(&row.configuration), escaped(&row.threshold));
        let _ = writeln!(page, "<tr><td>{configuration}</td><td>{threshold}</td>{shares}</tr>");
    }
    page.push_str("</table>\n");
    Ok(())
}

/// Text without markup.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::summary::Row;

    pub(in super::super) fn heading() -> Heading {
        Heading { index: "docs|1".to_owned(), facts: vec![("Questions".to_owned(), "a_b.jsonl".to_owned())] }
    }

    pub(in super::super) fn summary() -> Summary {
        let estimate = Estimate { mean: 0.5, low: 0.25, high: 0.75 };
        let configuration = "dense<b>".to_owned();
        let row = Row { configuration: configuration.clone(), figures: vec![estimate; Measure::ALL.len()] };
        Summary {
            groups: vec![Group { name: "all".to_owned(), questions: 2, rows: vec![row] }],
            thresholds: vec![ThresholdRow {
                configuration,
                threshold: "fixed".to_owned(),
                answerable: Some(estimate),
                unanswerable: None,
            }],
            answerable: 2,
            unanswerable: 1,
        }
    }

    #[test]
    fn the_report_has_plots_and_tables_and_no_markup_of_others() {
        let page = html(&heading(), &summary()).unwrap();
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(page.contains("dense&lt;b&gt;") && !page.contains("<b>"));
        assert!(page.contains("<td>0.500 <small>(0.250 to 0.750)</small></td>") && page.contains("not available"));
        // Nothing is loaded from elsewhere. The name of the SVG namespace is no link.
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"));
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escaped("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
    }
}
