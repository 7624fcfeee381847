use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;

use crate::ParseError;
use crate::metadata::cut;

/// No element is nested deeper: browsers stop at 512 too, and the converter needs a piece of the stack for each.
const MAX_DEPTH: usize = 256;
/// As much of a heading or a title as can matter, in bytes.
const MAX_TITLE_BYTES: usize = 2_000;

/// What a page says of itself, and where its main part is.
#[derive(Default)]
pub(super) struct Page {
    /// `<main>`, else its only `<article>`.
    pub main: Option<Rc<Node>>,
    title: Option<String>,
    heading: Option<String>,
    canonical: Option<String>,
    time: Option<String>,
    meta: Meta,
}

/// Values of `<meta>`.
#[derive(Debug, Default)]
struct Meta {
    title: Option<String>,
    url: Option<String>,
    date: Option<String>,
}

impl Page {
    /// Looks at every element of a page once.
    ///
    /// # Errors
    ///
    /// It is nested too deeply.
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

    /// `<title>`, else what it is called when it is shared, else its first heading of the first rank.
    pub(super) fn title(&self) -> Option<&str> {
        [&self.title, &self.meta.title, &self.heading]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .find(|title| !title.trim().is_empty())
    }

    /// The address that it wants to be known by.
    pub(super) fn url(&self) -> Option<&str> {
        self.canonical.as_deref().or(self.meta.url.as_deref())
    }

    /// When it was published or changed, else the first time that it names.
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
            // A drawing has titles too.
            "title" if self.title.is_none() && &*name.ns == "http://www.w3.org/1999/xhtml" => {
                self.title = Some(text_of(node))
            }
            // Headings can stand in each other: the others are not read.
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

fn attribute(node: &Rc<Node>, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    attrs.borrow().iter().find(|attribute| &*attribute.name.local == name).map(|attribute| attribute.value.to_string())
}

/// The words in an element, as many as a title may have. What is in it is not followed further than a page may be nested.
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
