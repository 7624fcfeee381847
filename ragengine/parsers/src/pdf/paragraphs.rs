use super::line::Line;

/// Lines further apart than so many times the font's size are of two paragraphs.
const MAX_LEADING: f64 = 1.75;
/// Lines whose sizes differ by more than this are of two paragraphs: one of them is a heading.
const MAX_SIZE_RATIO: f64 = 1.15;
/// A line that ends before this part of its paragraph's width was ended on purpose.
const MIN_FULL: f64 = 0.75;

/// The text of a page: its lines put together to paragraphs, with an empty line between those. Lines that were only broken because they were full are
/// one line again.
pub(super) fn text_of(lines: &[Line]) -> String {
    let paragraphs = lines.chunk_by(is_same_paragraph);
    let texts: Vec<String> = paragraphs.map(paragraph).filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

fn is_same_paragraph(line: &Line, next: &Line) -> bool {
    let size = line.size.max(next.size);
    let ratio = size / line.size.min(next.size);
    let drop = line.across - next.across;
    let overlaps = next.start < line.end && line.start < next.end;
    line.is_parallel(next) && ratio < MAX_SIZE_RATIO && drop > 0.0 && drop < MAX_LEADING * size && overlaps
}

fn paragraph(lines: &[Line]) -> String {
    let start = lines.iter().map(|line| line.start).fold(f64::INFINITY, f64::min);
    let end = lines.iter().map(|line| line.end).fold(f64::NEG_INFINITY, f64::max);
    let full_end = start + MIN_FULL * (end - start);

    let mut text = String::new();
    let mut is_last_full = false;
    for line in lines.iter().filter(|line| !line.text.is_empty()) {
        let next = line.text.trim_start();
        if text.is_empty() {
        } else if is_last_full && !begins_item(next) {
            join(&mut text, next);
        } else {
            text.push('\n');
        }
        text.push_str(next);
        is_last_full = line.end >= full_end;
    }
    text
}

/// Prepares a text for what stands in its next line: a word that was divided is whole again, and scripts without spaces get none.
fn join(text: &mut String, next: &str) {
    let mut before = text.chars().rev();
    let (last, one_before) = (before.next(), before.next());
    let first = next.chars().next();
    let continues_word = first.is_some_and(char::is_lowercase) && one_before.is_some_and(char::is_alphabetic);
    match last {
        Some('\u{ad}') => {
            text.pop();
        }
        Some('-' | '\u{2010}') if continues_word => {
            text.pop();
        }
        Some(last) if is_without_spaces(last) && first.is_some_and(is_without_spaces) => {}
        _ => text.push(' '),
    }
}

fn begins_item(text: &str) -> bool {
    let mut characters = text.chars();
    let is_sign = characters.next().is_some_and(|first| matches!(first, '•' | '◦' | '▪' | '‣' | '–' | '·' | '*' | '-'));
    (is_sign && characters.next().is_none_or(char::is_whitespace)) || begins_with_number(text)
}

/// `1.` or `12)`, and a space.
fn begins_with_number(text: &str) -> bool {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = text.len() - rest.len();
    (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "))
}

/// Chinese and Japanese.
fn is_without_spaces(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests;
