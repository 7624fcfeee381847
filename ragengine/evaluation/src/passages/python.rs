//! Cuts Python into functions and methods.

use super::functions::{indent, passage};

/// The functions of a file that have the right size, each with its decorators and the first paragraph of its docstring.
pub(super) fn cut(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut passages = Vec::new();
    let mut class = "";
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        let trimmed = line.trim_start();
        if !line.starts_with([' ', ')', '#']) && !trimmed.is_empty() && !trimmed.starts_with('@') {
            class = class_name(line).unwrap_or_default();
        }
        if !is_function(trimmed) {
            position += 1;
            continue;
        }
        let end = end_of(&lines, position);
        let start = first_decorator(&lines, position);
        let function = without_details(lines.get(start..end).unwrap_or_default());
        let owner = if class.is_empty() || indent(line) == 0 { String::new() } else { format!(", class {class}") };
        passages.extend(passage(&format!("# {path}{owner}"), &function, indent(line)));
        position = end;
    }
    passages
}

fn class_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("class ")?;
    rest.split(['(', ':']).next()
}

fn is_function(trimmed: &str) -> bool {
    trimmed.starts_with("def ") || trimmed.starts_with("async def ")
}

/// The line after a function: the next one that is not indented more, except the end of a signature.
fn end_of(lines: &[&str], start: usize) -> usize {
    let own = lines.get(start).map_or(0, |line| indent(line));
    let inside = |line: &&&str| {
        line.trim().is_empty() || indent(line) > own || (indent(line) == own && line.trim_start().starts_with(')'))
    };
    start + 1 + lines.iter().skip(start + 1).take_while(inside).count()
}

fn first_decorator(lines: &[&str], function: usize) -> usize {
    let before = lines.get(..function).unwrap_or_default().iter().rev();
    function - before.take_while(|line| line.trim_start().starts_with('@')).count()
}

/// The function with only the first paragraph of its docstring. The rest describes parameters at length.
fn without_details<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let all = || lines.to_vec();
    let opening = |pair: &[&str]| pair[0].trim_end().ends_with(':') && quotes(pair[1]).is_some();
    let Some(start) = lines.windows(2).position(opening).map(|before| before + 1) else { return all() };
    let Some(mark) = lines.get(start).and_then(|line| quotes(line)) else { return all() };
    let first = lines.get(start).copied().unwrap_or_default();
    if first.matches(mark).count() > 1 {
        return all();
    }
    let after = |from: usize, wanted: &dyn Fn(&str) -> bool| {
        lines.iter().skip(from).position(|line| wanted(line)).map(|found| from + found)
    };
    let Some(end) = after(start + 1, &|line| line.contains(mark)) else { return all() };
    let Some(blank) = after(start + 1, &|line| line.trim().is_empty()).filter(|blank| *blank < end) else {
        return all();
    };
    let last = lines.get(end).copied().unwrap_or_default();
    let mut kept = lines.get(..blank).unwrap_or_default().to_vec();
    // The closing quotes, with the indentation of their line.
    kept.push(
        last.rfind(mark)
            .and_then(|found| last.get(..found))
            .filter(|before| before.trim().is_empty())
            .map_or(mark, |_| last),
    );
    kept.extend(lines.get(end + 1..).unwrap_or_default());
    kept
}

fn quotes(line: &str) -> Option<&'static str> {
    let line = line.trim_start().trim_start_matches(['r', 'R']);
    ["\"\"\"", "'''"].into_iter().find(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_cut_with_its_decorator_and_a_short_docstring() {
        let body =
            "        return self.value + other.value  # a comment that makes this function long enough to keep\n";
        let text = format!(
            "import a\n\n\nclass Sum(Base):\n    @cached\n    def add(\n        self, other\n    ):\n        \
             \"\"\"Adds another.\n\n        Details follow.\n        \"\"\"\n{body}{body}\n    x = 1\n\n\ndef short():\n    pass\n"
        );
        let shown = format!(
            "# a/b.py, class Sum\n\n@cached\ndef add(\n    self, other\n):\n    \"\"\"Adds another.\n    \"\"\"\n{}{}",
            &body[4..],
            &body[4..]
        );
        assert_eq!(cut("a/b.py", &text), [shown]);
    }
}
