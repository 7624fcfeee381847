//! Finds places to cut code: at its syntax, as deep as syntax is meaningful.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use tree_sitter::{Parser, Point, Tree, TreeCursor};

use super::ChunkingError;
use super::boundary::{Boundary, SENTENCE, in_order};
use super::prose;
use super::split_type::{Language, grammar};
use super::work::{Stopped, Work, processor_time};

/// The most brackets that may be open at once. Code with more is cut as prose.
const MAX_OPEN_BRACKETS: usize = 256;
/// The most angle brackets that may be open at once within a statement. A parser finds out only at the end whether they
/// are brackets.
const MAX_OPEN_ANGLES: usize = 64;
/// The depth down to which syntax is used. Deeper code is cut as prose.
const MAX_DEPTH: u8 = 48;
/// The largest part that is parsed at once, in bytes. A parser needs hundreds of bytes of memory for each byte of code.
const MAX_PART_BYTES: usize = 32 << 10;
/// Bytes that the parser reads at once. Each byte counts as a step.
const READ_BYTES: usize = 256;
/// The most times that a part may be read. A parser normally goes back by a token or two; if it rereads everything
/// again and again, the part is cut as prose.
const MAX_READINGS: usize = 32;
/// The most operations of the parser per byte. It reports them in batches of a hundred.
const MAX_OPERATIONS_PER_BYTE: usize = 32;
const OPERATIONS_AT_ONCE: usize = 100;
/// The processor time for a part: ten times what code normally needs. For highly ambiguous code, each operation of the
/// parser is slower than the one before. Processor time does not depend on the load of the machine.
const TIME_PER_BYTE: Duration = Duration::from_micros(2);
const TIME_PER_PART: Duration = Duration::from_millis(10);

/// Finds the boundaries in code.
pub(super) fn boundaries(text: &str, language: Language, work: &Work) -> Result<Vec<Boundary>, ChunkingError> {
    if is_too_deep(text, work)? {
        return Ok(prose::line_breaks(text, work)?);
    }
    let mut parser = Parser::new();
    parser
        .set_language(&grammar(language).into())
        .map_err(|error| ChunkingError::Language { language: language.name(), reason: error.to_string() })?;
    let (mut boundaries, mut is_code) = (Vec::new(), true);
    for part in parts(text, work)? {
        let code = &text[part.clone()];
        let tree = if is_code { parse(&mut parser, code, work)? } else { None };
        let within = match &tree {
            Some(tree) => syntax(tree, work)?,
            None => prose::line_breaks(code, work)?,
        };
        // If one part cannot be parsed, the parts after it are cut as prose without trying.
        is_code = tree.is_some();
        boundaries.extend(Boundary::at(part.end, level(1)));
        boundaries.extend(within.into_iter().filter_map(|boundary| shifted(boundary, part.start)));
    }
    work.step(boundaries.len())?;
    Ok(in_order(boundaries, text))
}

fn shifted(boundary: Boundary, by: usize) -> Option<Boundary> {
    Boundary::at(boundary.offset() + by, boundary.level)
}

/// The level of a node. Nodes nearer to the root are better places.
fn level(depth: u8) -> u8 {
    SENTENCE + 1 + MAX_DEPTH - depth
}

/// Whether more brackets are open at once than a parser can handle. Brackets in strings and comments count, too.
fn is_too_deep(text: &str, work: &Work) -> Result<bool, Stopped> {
    work.step(text.len())?;
    let (mut open, mut angles, mut is_too_deep) = (0_usize, 0_usize, false);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => open += 1,
            b')' | b']' => open = open.saturating_sub(1),
            b'{' => (open, angles) = (open + 1, 0),
            b'}' => (open, angles) = (open.saturating_sub(1), 0),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b';' => angles = 0,
            _ => {}
        }
        is_too_deep |= open > MAX_OPEN_BRACKETS || angles > MAX_OPEN_ANGLES;
    }
    Ok(is_too_deep)
}

/// Splits code into parts short enough to parse, before lines that are not indented.
fn parts(text: &str, work: &Work) -> Result<Vec<Range<usize>>, Stopped> {
    let mut parts = Vec::new();
    let mut start = 0;
    while text.len() - start > MAX_PART_BYTES {
        work.step(MAX_PART_BYTES)?;
        let end = text.floor_char_boundary(start + MAX_PART_BYTES);
        let late = text.floor_char_boundary(start + MAX_PART_BYTES / 2);
        let lines = || text[late..end].match_indices('\n').map(|(line_break, _)| late + line_break + 1);
        let begins = |line: &usize| {
            text[*line..].starts_with(|letter: char| !letter.is_whitespace() && !matches!(letter, ')' | ']' | '}'))
        };
        let end = lines().rfind(begins).or_else(|| lines().next_back()).unwrap_or(end);
        parts.push(start..end);
        start = end;
    }
    parts.push(start..text.len());
    Ok(parts)
}

/// Parses a part. None if it exceeds the bounds on parsing.
fn parse(parser: &mut Parser, code: &str, work: &Work) -> Result<Option<Tree>, Stopped> {
    let most_read = MAX_READINGS * (code.len() + READ_BYTES);
    let most_done = MAX_OPERATIONS_PER_BYTE * (code.len() + OPERATIONS_AT_ONCE);
    let until = processor_time() + TIME_PER_PART + TIME_PER_BYTE * u32::try_from(code.len()).unwrap_or(u32::MAX);
    let (read, done, is_slow) = (Cell::new(0), Cell::new(0), Cell::new(false));
    let stopped: Cell<Option<Stopped>> = Cell::new(None);
    let spend = |what: &Cell<usize>, steps: usize| {
        what.set(what.get() + steps);
        if let Err(reason) = work.step(steps) {
            stopped.set(Some(reason));
        }
    };
    let is_over = || stopped.get().is_some() || is_slow.get() || read.get() > most_read || done.get() > most_done;
    let bytes = code.as_bytes();
    let mut input = |offset: usize, _: Point| {
        // An empty read ends the input, and with it any search of the parser.
        let rest = if is_over() { &[][..] } else { bytes.get(offset..).unwrap_or_default() };
        let given = &rest[..rest.len().min(READ_BYTES)];
        spend(&read, given.len());
        given
    };
    let mut progress = |_: &tree_sitter::ParseState| {
        spend(&done, OPERATIONS_AT_ONCE);
        is_slow.set(is_slow.get() || processor_time() > until);
        if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = tree_sitter::ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut input, None, Some(options));
    // Without a reset the parser would continue with the next text.
    parser.reset();
    match stopped.get() {
        Some(reason) => Err(reason),
        None => Ok(tree.filter(|_| !is_over())),
    }
}

fn syntax(tree: &Tree, work: &Work) -> Result<Vec<Boundary>, Stopped> {
    let mut boundaries = Vec::new();
    let mut cursor = tree.walk();
    let mut depth = 0;
    while goes_on(&mut cursor, &mut depth, work)? {
        let node = cursor.node().byte_range();
        boundaries.extend(Boundary::at(node.start, level(depth)));
        boundaries.extend(Boundary::at(node.end, level(depth)));
    }
    Ok(boundaries)
}

/// Moves to the next node that is not too deep. The depth is counted here, because the cursor computes it slowly.
fn goes_on(cursor: &mut TreeCursor<'_>, depth: &mut u8, work: &Work) -> Result<bool, Stopped> {
    work.step(1)?;
    if *depth < MAX_DEPTH && cursor.goto_first_child() {
        *depth += 1;
        return Ok(true);
    }
    while !cursor.goto_next_sibling() {
        work.step(1)?;
        if !cursor.goto_parent() {
            return Ok(false);
        }
        *depth -= 1;
    }
    Ok(true)
}
