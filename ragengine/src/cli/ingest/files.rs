use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ragengine_client::wire::{Document, Metadata};
use serde_json::Value;

use ragengine_index::chunking::Language;

/// The server's default for `limits.maxDocumentBytes`.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// A text file to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalFile {
    /// The path to read.
    pub path: PathBuf,
    /// The path relative to the given folder, with `/` as the separator.
    pub relative: String,
}

impl LocalFile {
    /// The id of the file's document.
    pub fn doc_id(&self, source: &str) -> String {
        format!("{source}/{}", self.relative)
    }
}

/// The result of listing a folder.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Text files, sorted by path.
    pub files: Vec<LocalFile>,
    /// Empty text files, such as Python's `__init__.py`. They are not sent, and an emptied file is not a deleted one.
    pub empty: Vec<LocalFile>,
    /// Messages about entries that could not be read.
    pub unreadable: Vec<String>,
}

/// Lists the text files at a path: the file itself, or all files of a folder except hidden and git-ignored ones.
pub(super) fn walk(path: &Path) -> io::Result<Walked> {
    let mut walked = Walked::default();
    if fs::metadata(path)?.is_file() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
        walked.files.push(LocalFile { path: path.to_owned(), relative: name.to_owned() });
        return Ok(walked);
    }
    for entry in WalkBuilder::new(path).require_git(false).follow_links(false).sort_by_file_path(Path::cmp).build() {
        match entry {
            Ok(entry) if is_text_file(&entry) => {
                let relative = entry.path().strip_prefix(path).unwrap_or(entry.path());
                let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                let relative = parts.join("/");
                let files = if is_empty(&entry) { &mut walked.empty } else { &mut walked.files };
                files.push(LocalFile { relative, path: entry.into_path() });
            }
            Ok(_) => {}
            Err(error) => walked.unreadable.push(error.to_string()),
        }
    }
    Ok(walked)
}

fn is_text_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file()) && kind_of(entry.path()).is_some()
}

/// Whether a file is known to be empty. One whose size is unknown is read, which reports the error.
fn is_empty(entry: &DirEntry) -> bool {
    entry.metadata().is_ok_and(|metadata| metadata.len() == 0)
}

/// Reads a file as a document. Errors are messages for the user.
pub(super) fn read_document(file: &LocalFile, source: &str) -> Result<Document, String> {
    let size = fs::metadata(&file.path).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("the file has {size} bytes; the limit is {MAX_FILE_BYTES}"));
    }
    let text = fs::read_to_string(&file.path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => "the file is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    })?;
    if text.trim().is_empty() {
        return Err("the file is empty".to_owned());
    }
    let metadata = metadata(file, &text);
    Ok(Document { doc_id: Some(file.doc_id(source)), text, metadata, source: Some(source.to_owned()), revision: None })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Prose,
    Markdown,
    Code(Language),
}

fn kind_of(path: &Path) -> Option<Kind> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "md" | "markdown" => Some(Kind::Markdown),
        "txt" | "text" | "rst" | "adoc" | "org" | "tex" => Some(Kind::Prose),
        extension => Language::of_extension(extension).map(Kind::Code),
    }
}

fn metadata(file: &LocalFile, text: &str) -> Metadata {
    let mut metadata = Metadata::new();
    let mut put = |name: &str, value: &str| metadata.insert(name.to_owned(), Value::from(value));
    put("path", &file.relative);
    match kind_of(&file.path) {
        Some(Kind::Markdown) => {
            put("split_type", "markdown");
            put("title", &first_heading(text).unwrap_or_else(|| file.relative.clone()));
        }
        Some(Kind::Code(language)) => {
            put("split_type", "code");
            put("language", language.name());
            put("title", &file.relative);
        }
        Some(Kind::Prose) | None => {
            put("title", &file.relative);
        }
    }
    metadata
}

fn first_heading(text: &str) -> Option<String> {
    let heading = Parser::new_ext(text, Options::all())
        .skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })))
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let title: String = heading
        .filter_map(|event| match event {
            Event::Text(piece) | Event::Code(piece) => Some(piece.into_string()),
            _ => None,
        })
        .collect();
    (!title.trim().is_empty()).then(|| title.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("b.md", "---\ntitle: not this\n---\n\n# The *title* `x`\n\ntext"),
            ("a/code.rs", "fn main() {}"),
            ("a/notes.txt", "notes"),
            ("ignored.txt", "no"),
            (".gitignore", "ignored.txt\n"),
            (".hidden.md", "no"),
            ("picture.png", "no"),
            ("data.json", "{}"),
            ("a/__init__.py", ""),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn text_files_are_listed_in_order() {
        let folder = folder();
        let walked = walk(folder.path()).unwrap();
        let paths = |files: Vec<LocalFile>| files.into_iter().map(|file| file.relative).collect::<Vec<_>>();
        assert_eq!(paths(walked.files), ["a/code.rs", "a/notes.txt", "b.md"]);
        assert_eq!(paths(walked.empty), ["a/__init__.py"]);
        assert_eq!(walked.unreadable, Vec::<String>::new());
    }

    #[test]
    fn metadata_say_how_a_document_is_split() {
        let folder = folder();
        let documents: Vec<Document> =
            walk(folder.path()).unwrap().files.iter().map(|file| read_document(file, "docs").unwrap()).collect();
        let shown: Vec<(&str, &Value, &Value)> = documents
            .iter()
            .map(|document| {
                (
                    document.doc_id.as_deref().unwrap(),
                    &document.metadata["title"],
                    document.metadata.get("split_type").unwrap_or(&Value::Null),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("docs/a/code.rs", &Value::from("a/code.rs"), &Value::from("code")),
                ("docs/a/notes.txt", &Value::from("a/notes.txt"), &Value::Null),
                ("docs/b.md", &Value::from("The title x"), &Value::from("markdown")),
            ]
        );
        assert_eq!(documents[0].metadata["language"], "rust");
    }

    #[test]
    fn unusable_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), [0xff, 0xfe, 0x00]).unwrap();
        fs::write(folder.path().join("b.txt"), " \n").unwrap();
        let errors: Vec<String> =
            walk(folder.path()).unwrap().files.iter().map(|file| read_document(file, "s").unwrap_err()).collect();
        assert_eq!(errors, ["the file is not UTF-8 text", "the file is empty"]);
        assert!(walk(&folder.path().join("nowhere")).is_err());
    }
}
