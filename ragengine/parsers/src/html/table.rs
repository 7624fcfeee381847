//! Writes tables as Markdown, with every value under its own heading. htmd's tables lose the headings of rows, and move
//! the values beside them to the left.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, Node};
use markup5ever_rcdom::NodeData;

use super::page::attribute;

/// Most columns that one cell can span. Pages write huge numbers for "the whole row".
const MAX_SPANNED_COLUMNS: usize = 100;
/// Most rows that one cell can span, as in browsers.
const MAX_SPANNED_ROWS: usize = 65_534;
/// Longest text of a cell that is repeated in each row that the cell spans, in bytes.
const MAX_REPEATED_BYTES: usize = 200;

/// The part of a table that a row is in, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Head,
    Body,
    Foot,
}

/// A row, with the elements of its cells.
struct RowNode {
    part: Part,
    cells: Vec<Rc<Node>>,
}

/// A row, with the text of its cells.
struct Row {
    part: Part,
    cells: Vec<Cell>,
}

struct Cell {
    text: String,
    is_heading: bool,
    columns: usize,
    rows: usize,
}

/// The cells above that reach down into the next row: for each column the number of further rows, and the text.
#[derive(Default)]
struct Hanging(Vec<(usize, String)>);

/// Writes a table. A table without headings, or with a table inside, usually arranges a page: only the content of its
/// cells is written.
pub(super) fn table(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let rows = rows_of(element.node);
    if !has_headings(&rows) || has_inner_table(element.node) {
        let content = handlers.walk_children(element.node).content;
        return Some(format!("\n\n{}\n\n", content.trim_matches('\n')).into());
    }
    let rows: Vec<Row> = rows.into_iter().map(|row| row.read(handlers)).collect();
    let captions = children(element.node).into_iter().filter(|child| tag(child) == "caption");
    let caption: String = captions.map(|caption| in_one_line(handlers, &caption) + "\n\n").collect();
    Some(format!("\n\n{caption}{}\n\n", written(&rows)).into())
}

/// The rows of a table that have cells, in the order in which they are shown.
fn rows_of(table: &Rc<Node>) -> Vec<RowNode> {
    let mut rows = Vec::new();
    for child in children(table) {
        let part = match tag(&child) {
            "thead" => Part::Head,
            "tfoot" => Part::Foot,
            _ => Part::Body,
        };
        match tag(&child) {
            "tr" => rows.push(RowNode::of(part, &child)),
            "thead" | "tbody" | "tfoot" => {
                let within = children(&child).into_iter().filter(|row| tag(row) == "tr");
                rows.extend(within.map(|row| RowNode::of(part, &row)));
            }
            _ => {}
        }
    }
    rows.retain(|row| !row.cells.is_empty());
    rows.sort_by_key(|row| row.part);
    rows
}

impl RowNode {
    fn of(part: Part, row: &Rc<Node>) -> Self {
        Self { part, cells: children(row).into_iter().filter(|cell| matches!(tag(cell), "th" | "td")).collect() }
    }

    fn read(self, handlers: &dyn Handlers) -> Row {
        Row { part: self.part, cells: self.cells.iter().map(|cell| Cell::read(handlers, cell)).collect() }
    }
}

impl Row {
    /// Whether the cells are headings of columns. The corner above headings of rows is often an empty cell.
    fn has_only_headings(&self) -> bool {
        let are_headings = |cells: &[Cell]| !cells.is_empty() && cells.iter().all(|cell| cell.is_heading);
        let is_corner = |cell: &Cell| cell.text.is_empty();
        are_headings(&self.cells)
            || self.cells.split_first().is_some_and(|(first, rest)| is_corner(first) && are_headings(rest))
    }
}

impl Cell {
    fn read(handlers: &dyn Handlers, node: &Rc<Node>) -> Self {
        let span = |name: &str| attribute(node, name).and_then(|value| value.trim().parse::<usize>().ok());
        let rows = match span("rowspan") {
            // To the end of its part of the table.
            Some(0) => MAX_SPANNED_ROWS,
            rows => rows.unwrap_or(1).min(MAX_SPANNED_ROWS),
        };
        Self {
            text: in_one_line(handlers, node).replace('|', "\\|"),
            is_heading: tag(node) == "th",
            columns: span("colspan").unwrap_or(1).clamp(1, MAX_SPANNED_COLUMNS),
            rows,
        }
    }
}

impl Hanging {
    /// The texts of a row by column, including those of cells above that span this row. A cell that spans several
    /// columns stands in the first of them, or in each if `repeats`.
    fn row(&mut self, cells: &[Cell], repeats: bool) -> Vec<String> {
        let mut texts = Vec::new();
        for cell in cells {
            while let Some(text) = self.take(texts.len()) {
                texts.push(text);
            }
            for number in 0..cell.columns {
                let text = if number == 0 || repeats { cell.text.clone() } else { String::new() };
                self.hang(texts.len(), cell.rows - 1, &text);
                texts.push(text);
            }
        }
        while texts.len() < self.0.len() {
            let text = self.take(texts.len()).unwrap_or_default();
            texts.push(text);
        }
        while texts.last().is_some_and(String::is_empty) {
            texts.pop();
        }
        // Short rows below a very wide one would each take its memory.
        texts.shrink_to_fit();
        texts
    }

    /// The text of a cell above that spans this row.
    fn take(&mut self, column: usize) -> Option<String> {
        let (rows, text) = self.0.get_mut(column)?;
        *rows = rows.checked_sub(1)?;
        Some(text.clone())
    }

    fn hang(&mut self, column: usize, rows: usize, text: &str) {
        if self.0.len() <= column {
            self.0.resize(column + 1, (0, String::new()));
        }
        let text = if rows > 0 && text.len() <= MAX_REPEATED_BYTES { text.to_owned() } else { String::new() };
        self.0[column] = (rows, text);
    }
}

/// The rows as Markdown. Without a row of headings, the headings of the columns are empty.
fn written(rows: &[Row]) -> String {
    let headings = heading_rows(rows);
    let mut hanging = Hanging::default();
    let mut part = Part::Head;
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        if row.part != part {
            // A cell does not reach out of its part of the table.
            (hanging, part) = (Hanging::default(), row.part);
        }
        lines.push(hanging.row(&row.cells, number < headings));
    }
    let width = lines.iter().map(Vec::len).max().unwrap_or_default();
    let (headings, values) = lines.split_at(headings);
    let line = |texts: &[String]| format!("| {} |", texts.join(" | "));
    let separator = format!("|{}", " - |".repeat(width));
    let mut written = vec![line(&merged(headings, width)), separator];
    written.extend(values.iter().filter(|texts| !texts.is_empty()).map(|texts| line(texts)));
    written.join("\n")
}

/// The number of first rows with the headings of columns.
fn heading_rows(rows: &[Row]) -> usize {
    let in_head = rows.iter().take_while(|row| row.part == Part::Head).count();
    if in_head > 0 {
        return in_head;
    }
    match rows.iter().take_while(|row| row.has_only_headings()).count() {
        all if all == rows.len() => all.min(1),
        some => some,
    }
}

/// Several rows of headings as one, because Markdown has one.
fn merged(headings: &[Vec<String>], width: usize) -> Vec<String> {
    let heading = |column: usize| {
        let mut words: Vec<&str> = headings.iter().filter_map(|row| row.get(column)).map(String::as_str).collect();
        words.retain(|word| !word.is_empty());
        words.dedup();
        words.join(" ")
    };
    (0..width).map(heading).collect()
}

fn has_headings(rows: &[RowNode]) -> bool {
    rows.iter().any(|row| row.part == Part::Head || row.cells.iter().any(|cell| tag(cell) == "th"))
}

fn has_inner_table(table: &Rc<Node>) -> bool {
    let mut waiting = children(table);
    while let Some(node) = waiting.pop() {
        if tag(&node) == "table" {
            return true;
        }
        waiting.extend(children(&node));
    }
    false
}

/// The Markdown of an element in one line.
fn in_one_line(handlers: &dyn Handlers, node: &Rc<Node>) -> String {
    let content = handlers.handle(node).map(|result| result.content).unwrap_or_default();
    content.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn children(node: &Rc<Node>) -> Vec<Rc<Node>> {
    node.children.borrow().iter().map(Rc::clone).collect()
}

fn tag(node: &Rc<Node>) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        _ => "",
    }
}
