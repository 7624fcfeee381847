//! Code spans: text between two runs of backticks of the same length, in one paragraph.

use super::line::{self, Kind};
use super::{Look, Window};

/// The number of backticks at the beginning of a text.
pub(super) fn ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Looks for the run of backticks that ends a code span. The length includes it.
pub(super) fn end(window: Window<'_>, opening: usize) -> Look {
    let mut at = 0;
    while let Some(found) = window.text[at..].find(['`', '\n']) {
        at += found;
        let ticks = ticks(&window.text[at..]);
        if ticks == 0 {
            at += 1;
            match line::kind(window.from(at)) {
                Some(Kind::Continuing) => continue,
                Some(_) => return Look::No,
                None => return Look::Open,
            }
        }
        at += ticks;
        if at == window.text.len() && !window.is_whole {
            return Look::Open;
        }
        if ticks == opening {
            return Look::Yes(at);
        }
    }
    window.ended()
}
