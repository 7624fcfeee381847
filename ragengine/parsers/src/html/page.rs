use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;

use crate::ParseError;
use crate::metadata::cut;

/// Maximum nesting depth of elements. Browsers limit it to 512; the converter needs some stack for each level.
const MAX_DEPTH: usize = 256;
/// Maximum length of a heading or title that is read, in bytes.
const MAX_TITLE_BYTES: usize = 2_000;

/// The metadata and the main element of a page.
#[derive(Default)]
pub(super) struct Page {
    /// `<main>`, otherwise the only `<article>`.
    pub main: Option<Rc<Node>>,
    title: Option<String>,
    heading: Option<String>,
    canonical: Option<String>,
    time: Option<String>,
    meta: Meta,
}

/// Values of `<meta>` elements.
#[derive(Debug, Default)]
struct Meta {
    title: Option<String>,
    url: Option<String>,
    date: Option<String>,
}

impl Page {
    /// Visits every element of a page once.
    ///
    /// # Errors
    ///
    /// The page is nested too deeply.
    pub(super) fn of(tree: &Rc<Node>) -> Result<Self, ParseError> {
        let mut page = Self::default();
        let mut articles = Vec::new();
        let mut waiting = vec![(Rc::clone(tree), 0)];
        while let Some((node, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(ParseError::Malformed(format!("its elements are nested more than {MAX_DEPTH} deep")));
            }
            page.look_at(&node, &mut articles);
            waiting.extend(node.children.borrow().iter().rev().map(|child| (Rc::clone(child), depth + 1)));
        }
        if page.main.is_none() && articles.len() == 1 {
            page.main = articles.pop();
        }
        Ok(page)
    }

    /// The `<title>`, otherwise the `og:title`, otherwise the first `<h1>`.
    pub(super) fn title(&self) -> Option<&str> {
        [&self.title, &self.meta.title, &self.heading]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .find(|title| !title.trim().is_empty())
    }

    /// The canonical address.
    pub(super) fn url(&self) -> Option<&str> {
        self.canonical.as_deref().or(self.meta.url.as_deref())
    }

    /// The date of publication or modification, otherwise the first `<time>`.
    pub(super) fn date(&self) -> Option<&str> {
        self.meta.date.as_deref().or(self.time.as_deref())
    }

    fn look_at(&mut self, node: &Rc<Node>, articles: &mut Vec<Rc<Node>>) {
        let NodeData::Element { name, .. } = &node.data else {
            return;
        };
        match &*name.local {
            "main" => keep_first(&mut self.main, Some(Rc::clone(node))),
            "article" => articles.push(Rc::clone(node)),
            // SVG elements can also have titles.
            "title" if self.title.is_none() && &*name.ns == "http://www.w3.org/1999/xhtml" => {
                self.title = Some(text_of(node))
            }
            // Headings can be nested, so that only the first one is read.
            "h1" if self.heading.is_none() => self.heading = Some(text_of(node)),
            "time" => keep_first(&mut self.time, attribute(node, "datetime")),
            "link" if attribute(node, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical")) => {
                keep_first(&mut self.canonical, attribute(node, "href"));
            }
            "meta" => self.meta.look_at(node),
            _ => {}
        }
        if attribute(node, "role").as_deref() == Some("main") {
            keep_first(&mut self.main, Some(Rc::clone(node)));
        }
    }
}

impl Meta {
    fn look_at(&mut self, node: &Rc<Node>) {
        let Some(name) = ["property", "name", "itemprop"].into_iter().find_map(|kind| attribute(node, kind)) else {
            return;
        };
        let content = attribute(node, "content");
        match name.to_ascii_lowercase().as_str() {
            "og:title" => keep_first(&mut self.title, content),
            "og:url" => keep_first(&mut self.url, content),
            "article:published_time"
            | "article:modified_time"
            | "date"
            | "datepublished"
            | "dc.date"
            | "dcterms.date"
            | "last-modified" => keep_first(&mut self.date, content),
            _ => {}
        }
    }
}

fn keep_first<T>(kept: &mut Option<T>, next: Option<T>) {
    if kept.is_none() {
        *kept = next;
    }
}

/// The value of an attribute of an element.
pub(super) fn attribute(node: &Rc<Node>, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    attrs.borrow().iter().find(|attribute| &*attribute.name.local == name).map(|attribute| attribute.value.to_string())
}

/// The text of an element, up to the maximum length of a title. The depth is limited by [`MAX_DEPTH`].
fn text_of(node: &Rc<Node>) -> String {
    let mut text = String::new();
    let mut waiting = vec![Rc::clone(node)];
    while let Some(node) = waiting.pop()
        && text.len() < MAX_TITLE_BYTES
    {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(cut(&contents.borrow(), MAX_TITLE_BYTES));
        }
        waiting.extend(node.children.borrow().iter().rev().map(Rc::clone));
    }
    text
}
