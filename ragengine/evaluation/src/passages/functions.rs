//! What the cutters of programming languages have in common: the size of a function, and its indentation.

/// Most bytes of a function. Code has more tokens for its bytes than prose.
const MAX_BYTES: usize = 680;

/// Fewest bytes: shorter functions are mostly accessors that resemble each other.
const MIN_BYTES: usize = 170;

/// A passage with a function, below a comment that says where it is from. Nothing for a function of another size.
pub(super) fn passage(comment: &str, lines: &[&str], indent: usize) -> Option<String> {
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or_default().trim_end()).collect();
    let body = lines.join("\n");
    let body = body.trim_end();
    (MIN_BYTES..=MAX_BYTES).contains(&body.len()).then(|| format!("{comment}\n\n{body}\n"))
}

/// Number of spaces at the start of a line.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
