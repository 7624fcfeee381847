//! Parses files to documents.
//!
//! ```text
//! Parser ── parses files in turn; documents go into a channel
//!   ├─ parse ── in this process: formats that are read sequentially, row by row if they have rows
//!   │    └─ decode, markdown, json_lines, table ── the formats
//!   └─ worker ── in a confined child process with limits: formats that need a tree of the whole file
//!        └─ html, pdf ── the formats
//! ```
//!
//! A file that hangs its parser, exhausts its memory or crashes it only fails itself. Nothing is downloaded, and no
//! link is followed.

mod date;
mod decode;
mod document;
mod error;
mod format;
mod html;
mod input;
mod json_lines;
mod limits;
mod markdown;
mod metadata;
mod parse;
mod parser;
mod pdf;
mod rows;
mod table;
pub mod worker;

pub use document::{Parsed, ParsedDocument, Problem, Stopped};
pub use error::ParseError;
pub use format::{CodeLanguage, Format, charset_of};
pub use input::{Content, Input};
pub use limits::Limits;
pub use parse::parse;
pub use parser::Parser;
