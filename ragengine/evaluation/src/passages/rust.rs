//! Cuts Rust into functions and methods.

use super::functions::{indent, passage};

/// The functions of a file that have the right size, each with the first paragraph of its comment. Tests are left out.
pub(super) fn cut(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().take_while(|line| *line != "#[cfg(test)]").collect();
    let mut passages = Vec::new();
    let mut block = "";
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        if line.starts_with("impl") || line.starts_with("pub trait") {
            block = line.trim_end_matches([' ', '{']);
        } else if line.starts_with('}') {
            block = "";
        }
        if !is_function(line.trim_start()) {
            position += 1;
            continue;
        }
        let end = end_of(&lines, position);
        let mut function = comment(&lines, position);
        function.extend(lines.get(position..end).unwrap_or_default());
        let owner = if block.is_empty() || indent(line) == 0 { String::new() } else { format!(", {block}") };
        passages.extend(passage(&format!("// {path}{owner}"), &function, indent(line)));
        position = end;
    }
    passages
}

fn is_function(trimmed: &str) -> bool {
    let public = trimmed.strip_prefix("pub(crate) ").or_else(|| trimmed.strip_prefix("pub ")).unwrap_or(trimmed);
    public.trim_start_matches("const ").trim_start_matches("unsafe ").starts_with("fn ")
}

/// The line after a function: after its closing brace, or after a signature without a body.
fn end_of(lines: &[&str], start: usize) -> usize {
    let own = lines.get(start).map_or(0, |line| indent(line));
    let is_end = |line: &str| indent(line) == own && line.trim_start().starts_with('}');
    let is_whole = |line: &str| line.ends_with(';') || (line.contains('{') && line.ends_with('}'));
    if lines.get(start).is_some_and(|line| is_whole(line)) {
        return start + 1;
    }
    lines.iter().skip(start).position(|line| is_end(line)).map_or(lines.len(), |found| start + found + 1)
}

/// The first paragraph of the comment above a function.
fn comment<'a>(lines: &[&'a str], function: usize) -> Vec<&'a str> {
    let above = lines.get(..function).unwrap_or_default().iter().rev();
    let is_above = |line: &&&str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    let mut above: Vec<&str> = above.take_while(is_above).copied().collect();
    above.reverse();
    above
        .into_iter()
        .filter(|line| line.trim_start().starts_with("///"))
        .take_while(|line| line.trim() != "///")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_cut_with_the_first_paragraph_of_its_comment() {
        let body =
            "        // A comment that makes this function long enough to keep, since short ones are left out.\n";
        let text = format!(
            "impl<T> List<T> {{\n    /// Adds.\n    ///\n    /// Details.\n    #[inline]\n    pub fn add(&mut self) \
             {{\n{body}{body}    }}\n\n    fn short(&self) {{}}\n}}\n\n#[cfg(test)]\nmod tests {{}}\n"
        );
        let shown = format!(
            "// src/a.rs, impl<T> List<T>\n\n/// Adds.\npub fn add(&mut self) {{\n{}{}}}\n",
            &body[4..],
            &body[4..]
        );
        assert_eq!(cut("src/a.rs", &text), [shown]);
    }
}
