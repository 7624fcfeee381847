use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    InsertRange(usize, usize),
    Remove(usize),
    Grow(usize),
    IntersectWith(usize, Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_usize..300).prop_map(Step::Insert),
        2 => (0_usize..300, 0_usize..310).prop_map(|(start, end)| Step::InsertRange(start, end)),
        3 => (0_usize..300).prop_map(Step::Remove),
        1 => (0_usize..300).prop_map(Step::Grow),
        1 => (0_usize..300, prop::collection::vec(0_usize..300, 0..200))
            .prop_map(|(len, positions)| Step::IntersectWith(len, positions)),
    ]
}

fn set_of(len: usize, positions: &[usize]) -> PositionSet {
    let mut set = PositionSet::with_len(len);
    for &position in positions {
        set.insert(position);
    }
    set
}

proptest! {
    #[test]
    fn it_behaves_as_a_set_of_the_positions_below_its_len(
        len in 0_usize..200,
        starts_full in any::<bool>(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut set = if starts_full { PositionSet::full(len) } else { PositionSet::with_len(len) };
        let mut model: BTreeSet<usize> = if starts_full { (0..len).collect() } else { BTreeSet::new() };
        let mut model_len = len;
        for step in steps {
            match step {
                Step::Insert(position) => {
                    prop_assert_eq!(set.insert(position), position < model_len && model.insert(position));
                }
                Step::InsertRange(start, end) => {
                    set.insert_range(start..end);
                    model.extend(start..end.min(model_len));
                }
                Step::Remove(position) => prop_assert_eq!(set.remove(position), model.remove(&position)),
                Step::Grow(len) => {
                    set.grow(len);
                    model_len = model_len.max(len);
                }
                Step::IntersectWith(len, positions) => {
                    set.intersect_with(&set_of(len, &positions));
                    model.retain(|position| *position < len && positions.contains(position));
                }
            }
            prop_assert_eq!(set.len(), model_len);
            prop_assert_eq!(set.count(), model.len());
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert!(set.iter().eq(model.iter().copied()));
            for position in 0..310 {
                prop_assert_eq!(set.contains(position), model.contains(&position));
                prop_assert_eq!(set.count_below(position), model.range(..position).count());
            }
        }
        prop_assert_eq!(&set, &set_of(model_len, &model.into_iter().collect::<Vec<_>>()));
    }
}

proptest! {
    #[test]
    fn the_difference_of_two_sets_is_iterated(
        (len, ours) in (0_usize..200, prop::collection::vec(0_usize..200, 0..100)),
        (other_len, theirs) in (0_usize..200, prop::collection::vec(0_usize..200, 0..100)),
    ) {
        let (set, other) = (set_of(len, &ours), set_of(other_len, &theirs));
        let expected: Vec<usize> = set.iter().filter(|&position| !other.contains(position)).collect();
        prop_assert_eq!(set.iter_without(&other).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn positions_beyond_the_last_word_are_not_in_the_set() {
    let mut set = PositionSet::full(64);
    assert!(!set.contains(64) && !set.contains(usize::MAX));
    assert!(!set.insert(usize::MAX) && !set.remove(usize::MAX));
    assert_eq!(set.count_below(usize::MAX), 64);
}
