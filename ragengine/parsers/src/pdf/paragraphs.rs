use super::line::Line;

/// Maximum distance between lines of one paragraph, in multiples of the font size.
const MAX_LEADING: f64 = 1.75;
/// Maximum ratio of font sizes within a paragraph. With a larger one, one of the lines is a heading.
const MAX_SIZE_RATIO: f64 = 1.15;
/// Minimum width of a full line as a share of its paragraph's width. A shorter line has an intended line break.
const MIN_FULL: f64 = 0.75;

/// Joins the lines of a page to paragraphs, separated by empty lines. Lines that were wrapped because they were full
/// are joined.
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

/// Appends the separator for the next line: a hyphenated word is joined, and scripts without spaces get no space.
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
    let is_sign = |first| matches!(first, '•' | '◦' | '▪' | '‣' | '–' | '·' | '*' | '-');
    let is_sign = characters.next().is_some_and(is_sign);
    (is_sign && characters.next().is_none_or(char::is_whitespace)) || begins_with_number(text)
}

/// Whether the text begins with a number such as `1.` or `12)`, followed by a space.
fn begins_with_number(text: &str) -> bool {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = text.len() - rest.len();
    (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "))
}

/// Whether the character is of a script without spaces: Chinese or Japanese.
fn is_without_spaces(character: char) -> bool {
    matches!(
        character,
        '\u{2e80}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests;
