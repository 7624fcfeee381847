//! What each element of HTML is in Markdown.

use super::html::Tag;
use super::markdown::Markdown;

/// The deepest list that is indented.
pub(super) const MAX_LISTS: usize = 16;

/// The maximum number of cells in a row.
pub(super) const MAX_CELLS: usize = 64;

/// The elements that are open.
#[derive(Debug, Default)]
pub(super) struct Elements {
    markdown: Markdown,
    /// The numbers of the next items, from the outermost list. A list without numbers has none.
    lists: Vec<Option<u64>>,
    /// How many elements of each of [`MARKS`] are open.
    marked: [usize; MARKS.len()],
    /// The address of the open link. None if it has no address that may be shown.
    link: Option<String>,
    row: Row,
    is_preformatted: bool,
    /// The next line break only follows the tag.
    skips_break: bool,
}

/// The row of a table that is open.
#[derive(Debug, Default)]
struct Row {
    is_first: bool,
    cells: usize,
    has_open_cell: bool,
}

/// Marks around words.
const MARKS: [&str; 4] = ["**", "*", "~~", "`"];

/// The position in [`MARKS`] of an element's mark.
fn mark(name: &str) -> Option<usize> {
    match name {
        "b" | "strong" => Some(0),
        "i" | "em" => Some(1),
        "del" | "s" | "strike" => Some(2),
        "code" | "kbd" | "samp" | "tt" => Some(3),
        _ => None,
    }
}

impl Elements {
    /// Adds text. Its pieces may be of any size.
    pub(super) fn text(&mut self, text: &str) {
        let is_first = !text.is_empty() && std::mem::take(&mut self.skips_break);
        let text = text.strip_prefix('\n').filter(|_| is_first).unwrap_or(text);
        if self.row.has_open_cell && text.contains('\n') {
            self.markdown.text(&text.replace('\n', " "));
        } else {
            self.markdown.text(text);
        }
    }

    /// Adds a tag.
    pub(super) fn tag(&mut self, tag: &Tag) {
        let name = &*tag.name;
        match name {
            "pre" => self.preformatted(tag.is_end),
            _ if self.is_preformatted => {}
            "td" | "th" => self.cell(tag.is_end),
            "tr" => self.row(tag.is_end),
            "br" if self.markdown.is_in_row() => self.markdown.text(" "),
            "br" => self.markdown.line_break(),
            "img" => self.image(tag),
            "a" => self.link(tag),
            _ => match mark(name) {
                Some(position) => self.mark(position, tag.is_end),
                None if self.row.has_open_cell && is_block(name) => self.markdown.space(),
                None => self.block(name, tag.is_end),
            },
        }
    }

    /// The end of the text.
    pub(super) fn finish(&mut self) {
        self.markdown.finish();
    }

    /// Takes the text so far, without what is held back.
    pub(super) fn take(&mut self) -> String {
        self.markdown.take()
    }

    fn block(&mut self, name: &str, is_end: bool) {
        let markdown = &mut self.markdown;
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "li" if is_end => {
                markdown.prefix("");
                markdown.block(if name == "li" { 1 } else { 2 });
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                markdown.block(2);
                let level = name[1..].parse().unwrap_or(1);
                markdown.prefix(&("#".repeat(level) + " "));
            }
            "li" => self.item(),
            "ul" | "ol" => {
                markdown.prefix("");
                if is_end {
                    self.lists.pop();
                } else if self.lists.len() < MAX_LISTS {
                    self.lists.push((name == "ol").then_some(1));
                }
                let is_inner = self.lists.len() > usize::from(!is_end);
                self.markdown.block(if is_inner { 1 } else { 2 });
            }
            "blockquote" => {
                markdown.prefix("");
                markdown.block(2);
                markdown.quote(is_end);
            }
            "hr" => {
                markdown.prefix("");
                markdown.block(2);
                markdown.sign("---");
                markdown.block(2);
            }
            "table" => {
                markdown.block(2);
                self.row = Row { is_first: true, ..Row::default() };
            }
            _ if is_block(name) => markdown.block(2),
            _ => {}
        }
    }

    fn item(&mut self) {
        let indentation: usize = self.lists.iter().rev().skip(1).map(|list| if list.is_some() { 3 } else { 2 }).sum();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.markdown.prefix("");
        self.markdown.block(1);
        self.markdown.prefix(&(" ".repeat(indentation) + &mark));
    }

    /// Nested elements of the same kind share one mark.
    fn mark(&mut self, position: usize, is_end: bool) {
        let (mark, open) = (MARKS[position], &mut self.marked[position]);
        match (is_end, *open) {
            (false, 0) => self.markdown.open_mark(mark),
            (true, 1) => self.markdown.close_mark(mark, mark),
            _ => {}
        }
        *open = if is_end { open.saturating_sub(1) } else { *open + 1 };
    }

    fn link(&mut self, tag: &Tag) {
        if let Some(address) = self.link.take() {
            self.markdown.close_mark("[", &format!("]({address})"));
        }
        if !tag.is_end {
            self.link = tag.attribute("href").and_then(|address| target(&address));
            if self.link.is_some() {
                self.markdown.open_mark("[");
            }
        }
    }

    fn image(&mut self, tag: &Tag) {
        let alternative = tag.attribute("alt").unwrap_or_default().replace(['[', ']'], "");
        match tag.attribute("src").and_then(|address| target(&address)) {
            Some(address) => self.markdown.text(&format!("![{alternative}]({address})")),
            None => self.markdown.text(&alternative),
        }
    }

    fn preformatted(&mut self, is_end: bool) {
        if is_end != self.is_preformatted {
            return;
        }
        self.is_preformatted = !is_end;
        self.skips_break = !is_end;
        if is_end {
            self.markdown.block(1);
            self.markdown.sign("```");
            self.markdown.block(2);
        } else {
            self.markdown.prefix("");
            self.markdown.block(2);
            self.markdown.sign("```\n");
        }
    }

    fn cell(&mut self, is_end: bool) {
        if self.row.has_open_cell {
            self.markdown.sign(" |");
        }
        self.row.has_open_cell = !is_end && self.row.cells < MAX_CELLS;
        if self.row.has_open_cell {
            self.markdown.sign(if self.row.cells == 0 { "|" } else { "" });
            self.markdown.space();
            self.row.cells += 1;
        }
    }

    fn row(&mut self, is_end: bool) {
        self.cell(true);
        if self.row.is_first && self.row.cells > 0 {
            self.markdown.block(1);
            self.markdown.sign(&("|".to_owned() + &"---|".repeat(self.row.cells)));
            self.row.is_first = false;
        }
        self.row.cells = 0;
        self.markdown.block(if is_end || !self.row.is_first { 1 } else { 2 });
    }
}

/// Whether an element is a block.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "html"
            | "main"
            | "nav"
            | "p"
            | "section"
            | "summary"
            | "table"
            | "ul"
            | "ol"
            | "li"
            | "blockquote"
            | "hr"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
    )
}

/// An address as the target of a link. Addresses that run code are no targets.
fn target(address: &str) -> Option<String> {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_path = |scheme: &str| scheme.contains(['/', '#', '?']);
    let is_safe = scheme.is_none_or(|scheme| matches!(&*scheme, "http" | "https" | "mailto") || is_path(&scheme));
    let address = address.replace(['<', '>'], "");
    match () {
        () if !is_safe || address.is_empty() => None,
        () if address.contains([' ', '(', ')']) => Some(format!("<{address}>")),
        () => Some(address),
    }
}
