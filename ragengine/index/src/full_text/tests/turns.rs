//! Several threads that analyse chunks and merge segments.

use std::time::Duration;

use super::super::segment::{ChunkText, TextSegment};
use super::super::set::{TextPart, TextSet};
use super::super::{Analyzer, TextKind};
use super::*;

#[test]
fn a_merge_of_segments_that_are_gone_is_discarded() {
    let segment = |row: u64| {
        let chunk = ChunkText { row, kind: TextKind::default(), text: "word".to_owned() };
        TextSegment::of_chunks(&Analyzer::new(TextLanguage::English), &[chunk]).unwrap()
    };
    let merged = |parts: &[TextPart]| {
        let segments: Vec<_> = parts.iter().map(|part| (&*part.segment, &*part.dead)).collect();
        TextSegment::merged(&segments).unwrap()
    };
    // The first three of five segments are merged, while these are.
    for (meanwhile, is_replaced, left) in
        [(0..0, true, 3), (3..5, true, 2), (0..2, false, 4), (1..3, false, 4), (2..4, false, 4), (1..5, false, 2)]
    {
        let mut set = TextSet::default();
        set.add(0..5);
        (0..5).for_each(|row| set.take(segment(row)));
        let then = set.close();
        if !meanwhile.is_empty() {
            let parts = &then[meanwhile.clone()];
            assert!(set.replace(parts, merged(parts)).is_some());
        }
        let replaced = set.replace(&then[..3], merged(&then[..3]));
        assert_eq!(replaced.is_some(), is_replaced, "{meanwhile:?}");
        let rows: Vec<u64> = set.parts().iter().flat_map(|part| part.segment.rows()).copied().collect();
        assert_eq!((set.parts().len(), rows), (left, vec![0, 1, 2, 3, 4]), "{meanwhile:?}");
    }
}

#[test]
fn a_search_waits_for_another_thread_if_few_chunks_are_left() {
    for (chunks, is_waiting) in [(MAX_PENDING_ROWS / 2, true), (MAX_PENDING_ROWS / 2 + 1, false)] {
        let subject = Subject::new();
        subject.put_numbers(0..chunks as usize);
        let turn = subject.index.full_text.turn.lock();
        std::thread::scope(|scope| {
            let query = subject.query("number7", Fusion::TextOnly);
            let index = Arc::clone(&subject.index);
            let search = scope.spawn(move || index.search(&query).unwrap().text);
            if is_waiting {
                std::thread::sleep(Duration::from_millis(300));
                assert!(!search.is_finished());
                drop(turn);
                assert!(matches!(search.join().unwrap(), TextOutcome::Done));
            } else {
                let text = search.join().unwrap();
                assert!(matches!(&text, TextOutcome::Failed(error) if error.kind() == "not_ready"), "{text:?}");
                drop(turn);
            }
        });
        assert_eq!(subject.find("number7"), ["number7"]);
    }
}
