//! What a run could not do although it went on: said again in its last lines.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::{env, fs};

/// The file to which scripts and tests add what they left out, a line each.
pub const NOTES: &str = "RAGENGINE_NOTES";

/// Adds a note, and says it now.
pub fn note(text: &str) {
    println!("note: {text}");
    let Some(file) = env::var_os(NOTES) else { return };
    // It was said already.
    drop(OpenOptions::new().append(true).create(true).open(file).map(|mut file| writeln!(file, "note: {text}")));
}

/// Prints all notes.
pub fn print() {
    if let Some(notes) = env::var_os(NOTES).and_then(|file| fs::read_to_string(file).ok()) {
        print!("{notes}");
    }
}
