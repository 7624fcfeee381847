//! New numbers of sources, in the order of their first appearance.

use std::collections::HashMap;

use super::CitedSource;

/// Gives numbers to the sources of an answer. Sources with the same title and page share one.
#[derive(Debug)]
pub(super) struct Numbering {
    /// For each source, the first one with its title and page.
    first_alike: Vec<usize>,
    /// The new number of each of those.
    numbers: Vec<Option<usize>>,
    /// The run of markers that last had the new number, by its index in `citations`.
    last_run: Vec<usize>,
    citations: Vec<usize>,
    run: usize,
}

impl Numbering {
    pub(super) fn new(sources: &[CitedSource<'_>]) -> Self {
        let mut first = HashMap::new();
        let alike = sources.iter().enumerate().map(|(position, source)| *first.entry(*source).or_insert(position));
        Self {
            first_alike: alike.collect(),
            numbers: vec![None; sources.len()],
            last_run: Vec::new(),
            citations: Vec::new(),
            run: 1,
        }
    }

    /// The marker with the new numbers, without those that name no source or precede in the run. None if no number is
    /// left.
    pub(super) fn marker(&mut self, written: &[usize]) -> Option<String> {
        let numbers: Vec<String> = written.iter().filter_map(|number| self.number(*number)).collect();
        (!numbers.is_empty()).then(|| format!("[{}]", numbers.join(", ")))
    }

    fn number(&mut self, written: usize) -> Option<String> {
        let source = written.checked_sub(1)?;
        let alike = *self.first_alike.get(source)?;
        let number = *self.numbers[alike].get_or_insert_with(|| {
            self.citations.push(source);
            self.last_run.push(0);
            self.citations.len()
        });
        let last_run = std::mem::replace(&mut self.last_run[number - 1], self.run);
        (last_run != self.run).then(|| number.to_string())
    }

    /// Text has followed the latest marker, so the next one begins a run: only markers with nothing but spaces between
    /// them share one.
    pub(super) fn end_run(&mut self) {
        self.run += 1;
    }

    /// The number of sources.
    pub(super) fn source_count(&self) -> usize {
        self.first_alike.len()
    }

    /// The sources by their new numbers.
    pub(super) fn citations(&self) -> &[usize] {
        &self.citations
    }

    pub(super) fn into_citations(self) -> Vec<usize> {
        self.citations
    }
}
