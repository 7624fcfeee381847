use std::collections::VecDeque;

use parking_lot::Mutex;

/// The most places that are remembered.
const MOST: usize = 256;

/// Where pages of lists begin, so that a page is found without those before it. A place holds as long as nothing has
/// changed.
#[derive(Default)]
pub struct Cursors(Mutex<VecDeque<Cursor>>);

struct Cursor {
    list: String,
    changes: u64,
    offset: usize,
    place: u64,
}

impl Cursors {
    /// The last known place of a list at an offset or before it: the offset, and the place behind which it is. The
    /// beginning if none is known.
    pub fn before(&self, list: &str, changes: u64, offset: usize) -> (usize, Option<u64>) {
        let cursors = self.0.lock();
        let known = cursors
            .iter()
            .filter(|cursor| cursor.list == list && cursor.changes == changes && cursor.offset <= offset)
            .max_by_key(|cursor| cursor.offset);
        known.map_or((0, None), |cursor| (cursor.offset, Some(cursor.place)))
    }

    /// Remembers a place of a list.
    pub fn keep(&self, list: &str, changes: u64, offset: usize, place: u64) {
        let mut cursors = self.0.lock();
        cursors.retain(|cursor| cursor.list != list || cursor.changes == changes && cursor.offset != offset);
        if cursors.len() == MOST {
            cursors.pop_front();
        }
        cursors.push_back(Cursor { list: list.to_owned(), changes, offset, place });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_holds_for_one_list_until_a_change() {
        let cursors = Cursors::default();
        assert_eq!(cursors.before("a", 1, 100), (0, None));
        cursors.keep("a", 1, 10, 1010);
        cursors.keep("a", 1, 20, 1020);
        cursors.keep("b", 1, 50, 1050);
        for (list, changes, offset, expected) in [
            ("a", 1, 9, (0, None)),
            ("a", 1, 10, (10, Some(1010))),
            ("a", 1, 19, (10, Some(1010))),
            ("a", 1, 100, (20, Some(1020))),
            ("a", 2, 100, (0, None)),
            ("b", 1, 100, (50, Some(1050))),
        ] {
            assert_eq!(cursors.before(list, changes, offset), expected, "{list} {changes} {offset}");
        }
        cursors.keep("a", 2, 30, 1030);
        assert_eq!(cursors.before("a", 1, 100), (0, None), "forgotten after a change");
        for offset in 0..2 * MOST {
            cursors.keep("c", 1, offset, 0);
        }
        assert_eq!(cursors.0.lock().len(), MOST);
    }
}
