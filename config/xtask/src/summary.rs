//! The closing line of cargo-nextest.

/// Finds the closing line in what cargo-nextest printed, line by line.
#[derive(Default)]
pub struct Summary {
    line: Option<String>,
}

impl Summary {
    /// Looks at a line. The latest closing line counts.
    pub fn look_at(&mut self, line: &str) {
        let plain = without_colours(line);
        let trimmed = plain.trim();
        if trimmed.starts_with("Summary [") && trimmed.contains(" run: ") {
            self.line = Some(trimmed.to_owned());
        }
    }

    /// The closing line, if there was one.
    pub fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }
}

/// A line without the escape sequences of a terminal.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // `ESC [ … m`
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn the_latest_closing_line_counts() {
        let mut summary = Summary::default();
        for line in [
            "     Summary [   1.000s] 2 tests run: 2 passed, 0 skipped",
            "\u{1b}[32;1m     Summary\u{1b}[0m [ 144.162s] 1273 tests run: 1272 passed, 1 failed, 0 skipped",
            "        FAIL [   0.158s] ragengine::server a_test",
        ] {
            summary.look_at(line);
        }
        assert_eq!(summary.line(), Some("Summary [ 144.162s] 1273 tests run: 1272 passed, 1 failed, 0 skipped"));
    }

    #[test]
    fn what_a_test_prints_is_no_closing_line() {
        let mut summary = Summary::default();
        summary.look_at("Summary [of a document]");
        assert_eq!(summary.line(), None);
    }
}
