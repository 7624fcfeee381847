//! Files in, documents out.
//!
//! ```text
//! Parser ── one file after another; documents go into a channel
//!   ├─ parse ── in this process: what is read once, from front to end, a row at a time where there are rows
//!   │    └─ decode, markdown, json_lines, table ── the formats
//!   └─ worker ── in a child process with a bound on its memory and its time, without files and network: what builds a tree of the whole file
//!        └─ html, pdf ── the formats
//! ```
//!
//! A file that hangs, explodes or ends its parser is an error of that file. Nothing is fetched, and no link is followed.

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
