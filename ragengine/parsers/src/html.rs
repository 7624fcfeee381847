//! Converts web pages to Markdown with htmd. Among converters that keep headings, it exposes the tree before
//! conversion, has a permissive licence, and needs only the browser-grade parser html5ever.

mod page;
mod table;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown};
use page::Page;

use crate::metadata::{Metadata, put_date, put_split_type, put_title, put_url};
use crate::{ParseError, ParsedDocument};

/// Elements without text of the page. Forms and buttons have some: a page can be in one form, and a heading in a button.
const SKIPPED: [&str; 17] = [
    "audio", "canvas", "datalist", "dialog", "footer", "head", "iframe", "nav", "noscript", "object", "script",
    "select", "style", "svg", "template", "textarea", "video",
];

/// Converts a page to a document with its main part, in Markdown.
///
/// # Errors
///
/// The page is nested too deeply.
pub(crate) fn parse(text: &str) -> Result<ParsedDocument, ParseError> {
    let converter = converter();
    let tree = converter.html_to_tree(text)?;
    let page = Page::of(&tree)?;
    let main = page.main.as_ref().map(|main| converter.tree_to_markdown(main));
    // On some pages the main part is empty and filled by a script.
    let text = match main {
        Some(main) if !main.trim().is_empty() => main,
        _ => converter.tree_to_markdown(&tree),
    };

    let mut metadata = Metadata::new();
    put_split_type(&mut metadata, "markdown");
    if let Some(title) = page.title() {
        put_title(&mut metadata, title);
    }
    if let Some(date) = page.date() {
        put_date(&mut metadata, date);
    }
    if let Some(url) = page.url() {
        put_url(&mut metadata, url);
    }
    Ok(ParsedDocument { key: None, text: text.trim().to_owned(), metadata })
}

fn converter() -> HtmlToMarkdown {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    HtmlToMarkdown::builder()
        .options(options)
        .scripting_enabled(true)
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["a"], link)
        .add_handler(vec!["img"], image)
        .add_handler(vec!["pre"], preformatted)
        .add_handler(vec!["table"], table::table)
        .build()
}

/// Writes only the text of a link, because addresses add no meaning. Symbols beside headings that link to themselves
/// are dropped.
fn link(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let text = handlers.walk_children(element.node);
    let is_sign = matches!(text.content.trim(), "#" | "\\#" | "¶" | "§" | "🔗");
    (!is_sign).then_some(text)
}

/// Writes the alternative text of an image.
fn image(_: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let alternative = element.attrs.iter().find(|attribute| &*attribute.name.local == "alt")?;
    let words: Vec<&str> = alternative.value.split_whitespace().collect();
    Some(words.join(" ").into())
}

/// Writes preformatted text as fenced code, so that a line beginning with `#` is not a heading. Elements marked as code
/// already have a fence.
fn preformatted(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let content = handlers.walk_children(element.node).content;
    let content = content.trim_matches('\n');
    if content.starts_with("```") {
        return Some(format!("\n\n{content}\n\n").into());
    }
    let longest = content.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    Some(format!("\n\n{fence}\n{content}\n{fence}\n\n").into())
}

#[cfg(test)]
mod tests;
