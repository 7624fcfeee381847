//! Fills passages with the paragraphs of a section.

use super::sections::Section;

/// Most bytes of a passage's text below its heading: it must fit into one chunk of 254 tokens, listings included.
const MAX_BYTES: usize = 700;

/// Fewest bytes: less text answers no question.
const MIN_BYTES: usize = 120;

/// The passages of a file. A section that is too short is left out, and so is a paragraph that is too long.
pub(super) fn pack(sections: &[Section]) -> Vec<String> {
    sections
        .iter()
        .flat_map(|section| fill(&section.blocks).into_iter().map(|body| with_heading(section, &body)))
        .collect()
}

fn with_heading(section: &Section, body: &str) -> String {
    format!("{}\n\n{}\n", section.heading, outdented(body))
}

fn fill(blocks: &[String]) -> Vec<String> {
    let mut bodies: Vec<String> = Vec::new();
    let mut body = String::new();
    for block in blocks.iter().filter(|block| block.len() <= MAX_BYTES) {
        if !body.is_empty() && body.len() + block.len() + 2 > MAX_BYTES {
            bodies.push(std::mem::take(&mut body));
        }
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(block);
    }
    bodies.push(body);
    bodies.retain(|body| body.len() >= MIN_BYTES);
    bodies
}

/// The text without the indentation that all its lines have.
fn outdented(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = text.lines().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = text.lines().map(|line| line.get(common..).unwrap_or_default()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_filled_up_to_the_limit_and_short_ones_are_left_out() {
        let blocks = [300, 300, 300, 701, 50].map(|length| "x".repeat(length));
        let lengths: Vec<usize> = fill(&blocks).iter().map(String::len).collect();
        assert_eq!(lengths, [602, 352]);
        assert!(fill(&["x".repeat(119)]).is_empty());
    }

    #[test]
    fn common_indentation_is_removed() {
        assert_eq!(outdented("    a\n\n      b"), "a\n\n  b");
    }
}
