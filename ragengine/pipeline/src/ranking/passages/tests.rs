use proptest::prelude::*;

use super::*;

fn chunk(document: u8, ordinal: u32, text: &str) -> Selected<'_, u8> {
    Selected { document, ordinal, page: None, bytes: None, text }
}

fn texts(selected: &[Selected<'_, u8>]) -> Vec<(Vec<usize>, String)> {
    joined(selected).into_iter().map(|passage| (passage.members, passage.text)).collect()
}

#[test]
fn neighbours_are_one_passage_with_the_rank_of_the_best() {
    let selected = [
        chunk(2, 5, "f"),
        chunk(1, 1, "b"),
        chunk(1, 4, "e"),
        chunk(2, 0, "a"),
        chunk(1, 0, "a"),
        chunk(1, 2, "c"),
        chunk(3, 6, "g"),
    ];
    let expected = [(vec![0], "f"), (vec![4, 1, 5], "a\nb\nc"), (vec![2], "e"), (vec![3], "a"), (vec![6], "g")];
    assert_eq!(texts(&selected), expected.map(|(members, text)| (members, text.to_owned())));
    assert_eq!(joined(&selected)[1].best(), 1);
    assert_eq!(texts(&[]), []);
}

#[test]
fn chunks_of_two_pages_are_two_passages() {
    let on = |ordinal, page, text| Selected { page, ..chunk(1, ordinal, text) };
    for (pages, expected) in [
        ([Some(7), Some(7), Some(7)], vec!["a\nb\nc"]),
        ([Some(7), Some(8), Some(8)], vec!["b\nc", "a"]),
        ([Some(7), Some(8), Some(7)], vec!["b", "a", "c"]),
        ([None, Some(1), None], vec!["b", "a", "c"]),
    ] {
        let selected = [on(1, pages[1], "b"), on(0, pages[0], "a"), on(2, pages[2], "c")];
        let joined: Vec<String> = joined(&selected).into_iter().map(|passage| passage.text).collect();
        assert_eq!(joined, expected, "{pages:?}");
    }
}

#[test]
fn an_overlap_is_written_once() {
    for (one, next, expected) in [
        (
            "Call first. Tell the office at nine.",
            "Tell the office at nine. Then rest.",
            "Call first. Tell the office at nine. Then rest.",
        ),
        ("See the", "the house", "See the\nthe house"),
        ("Tell the office at nine.", "Tell the office at nine.", "Tell the office at nine."),
    ] {
        assert_eq!(texts(&[chunk(1, 1, next), chunk(1, 0, one)]), [(vec![1, 0], expected.to_owned())]);
    }
}

#[test]
fn known_places_tell_the_overlap() {
    let document = "aaa bbb ccc ddd";
    for (ranges, expected) in [
        (vec![0..7, 4..11], "aaa bbb ccc"),
        (vec![0..7, 7..11], "aaa bbb ccc"),
        (vec![0..3, 4..7], "aaa\nbbb"),
        (vec![0..11, 4..7, 8..15], "aaa bbb ccc ddd"),
        (vec![0..7, 0..7], "aaa bbb"),
    ] {
        let place = |(ordinal, bytes): (u32, &Range<usize>)| Selected {
            document: 1,
            ordinal,
            page: None,
            bytes: Some(bytes.clone()),
            text: &document[bytes.clone()],
        };
        let selected: Vec<_> = (0..).zip(&ranges).map(place).collect();
        assert_eq!(joined(&selected)[0].text, expected, "{ranges:?}");
    }
    let wrong = Selected { bytes: Some(0..2), ..chunk(1, 1, "bbb") };
    assert_eq!(joined(&[chunk(1, 0, "aaa"), wrong])[0].text, "aaa\nbbb", "A place of another length is ignored.");
}

proptest! {
    #[test]
    fn each_chunk_is_in_one_passage_and_ranks_ascend(
        places in proptest::collection::vec((0_u8..3, 0_u32..12), 0..20),
    ) {
        let selected: Vec<_> = places.iter().map(|&(document, ordinal)| chunk(document, ordinal, "x")).collect();
        let passages = joined(&selected);
        prop_assert!(passages.is_sorted_by_key(Joined::best));
        let mut members: Vec<usize> = passages.iter().flat_map(|passage| passage.members.clone()).collect();
        members.sort_unstable();
        prop_assert_eq!(members, (0..selected.len()).collect::<Vec<_>>());
    }

    #[test]
    fn pieces_of_a_document_give_the_document(
        text in "[a-zé]{1,80}",
        cuts in proptest::collection::vec(0_usize..80, 1..6),
    ) {
        let mut starts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut % text.len())).collect();
        starts.push(0);
        starts.sort_unstable();
        // Each piece ends where the next but one begins, so pieces overlap.
        let end = |piece: usize| starts.get(piece + 2).copied().unwrap_or(text.len());
        let pieces: Vec<_> = (0..).zip(&starts).map(|(ordinal, &start)| {
            let bytes = start..end(ordinal as usize);
            Selected { document: 1, ordinal, page: None, text: &text[bytes.clone()], bytes: Some(bytes) }
        }).collect();
        prop_assert_eq!(&joined(&pieces)[0].text, &text);
    }
}
