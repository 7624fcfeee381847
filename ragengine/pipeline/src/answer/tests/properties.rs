//! What holds for every answer and every way to cut it.

use proptest::prelude::*;

use super::*;

/// Answers of the signs that decide, and some random characters.
fn answers() -> impl Strategy<Value = String> {
    const SIGNS: &[&str] = &[
        "[1]",
        "[2]",
        "[3, 1]",
        "[9]",
        "[1-3]",
        "[2; 9]",
        "a_b",
        " = ",
        ".a",
        "-",
        "[",
        "]",
        "1",
        "2",
        ",",
        ", ",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "(",
        ")",
        ":",
        "[1](",
        "/u)",
        "[2]: ",
        "`",
        "``",
        "```",
        "~~~",
        "\n```\n",
        "\\",
        ">",
        "- ",
        "1. ",
        "#",
        "|",
        ".",
        ". ",
        "!",
        "?",
        "a",
        "A",
        "word",
        " do not say",
        " The",
        "_",
        "\u{3010}1\u{3011}",
        "\u{3010}",
        "\u{ff3b}",
        "\u{ff11}",
        "\u{ff3d}",
        "\u{e9}",
        "\u{5929}",
        "\"",
        "<",
        "\u{3002}",
        "It is free [1]. ",
    ];
    let piece = prop_oneof![
        30 => proptest::sample::select(SIGNS).prop_map(str::to_owned),
        1 => ".{0,4}".boxed(),
        // Longer than what is held back.
        1 => (proptest::sample::select(&[" ", "[", "`", "a", "1, ", "\n", "( ", "x. ", "\u{5929}"]), 20_usize..600)
            .prop_map(|(sign, count)| sign.repeat(count)),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The longest text that is held back once a marker has been read, in bytes: a sign, white space, the first sentence.
const MAX_HELD: usize = scan::window::MAX_HELD_BYTES + 64 + 1024 + 100;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_stream_is_the_same_for_every_cut(answer in answers(), sizes in proptest::collection::vec(1_usize..40, 1..20)) {
        let whole = cite(&answer, &SOURCES, &CitationRules::default());
        let characters: Vec<char> = answer.chars().collect();
        for sizes in [&*sizes, &[1]] {
            let mut stream = CitationStream::new(&SOURCES, CitationRules::default());
            let (mut text, mut rest) = (String::new(), &*characters);
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(rest.len().min(*size));
                text += &stream.push(&piece.iter().collect::<String>());
                rest = after;
            }
            let (last, finished) = stream.finish();
            prop_assert!(text.is_empty() || last.len() <= MAX_HELD);
            text += &last;
            let Finished { citations, outcome } = finished;
            prop_assert_eq!(&Cited { text, citations, outcome }, &whole);
        }
    }

    #[test]
    fn held_back_text_is_bounded_behind_a_marker(answer in answers()) {
        let mut stream = CitationStream::new(&SOURCES, CitationRules::default());
        stream.push("So [1].\n");
        // What has been held back is sent together with a character, or at the end.
        for character in answer.chars() {
            prop_assert!(stream.push(character.encode_utf8(&mut [0; 4])).len() <= MAX_HELD);
        }
        prop_assert!(stream.finish().0.len() <= MAX_HELD);
    }

    #[test]
    fn numbers_are_consecutive_and_name_cited_sources(answer in answers()) {
        let Cited { text, citations, outcome } = cite(&answer, &SOURCES, &CitationRules::default());
        prop_assert_eq!(outcome == Outcome::Cited, !citations.is_empty());
        let mut pages: Vec<CitedSource<'_>> = citations.iter().map(|source| SOURCES[*source]).collect();
        pages.dedup();
        prop_assert_eq!(pages.len(), citations.len());
        if outcome == Outcome::Cited {
            prop_assert!((1..=citations.len()).all(|number| text.contains(&number.to_string())));
        }
        cited_sentences(&text, citations.len());
    }
}
