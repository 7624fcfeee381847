use proptest::prelude::*;

use super::*;

#[test]
fn what_changes_the_direction_is_shown() {
    for (text, shown) in [
        ("pay \u{202e}001\u{202c} euros", "pay \\u{202E}001\\u{202C} euros"),
        ("\u{202a}a\u{202b}b\u{202d}c", "\\u{202A}a\\u{202B}b\\u{202D}c"),
        ("\u{2066}a\u{2067}b\u{2068}c\u{2069}", "\\u{2066}a\\u{2067}b\\u{2068}c\\u{2069}"),
        // What is shown stays as it is.
        ("\\u{202E}", "\\u{202E}"),
    ] {
        assert_eq!(seen(text), shown, "{text:?}");
    }
}

#[test]
fn line_breaks_and_blanks_are_the_usual_ones() {
    assert_eq!(seen("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f\r\n\tg"), "a\nb\nc\nd\ne\nf\r\n\tg");
    assert_eq!(seen("a\u{2800}b\u{3164}c\u{ffa0}d"), "a b c d");
}

#[test]
fn what_nobody_sees_is_dropped() {
    let ranges = [
        ('\0', '\u{8}'),
        ('\u{e}', '\u{1f}'),
        ('\u{7f}', '\u{84}'),
        ('\u{86}', '\u{9f}'),
        ('\u{ad}', '\u{ad}'),
        ('\u{34f}', '\u{34f}'),
        ('\u{61c}', '\u{61c}'),
        ('\u{115f}', '\u{1160}'),
        ('\u{17b4}', '\u{17b5}'),
        ('\u{180b}', '\u{180f}'),
        ('\u{200b}', '\u{200f}'),
        ('\u{2060}', '\u{2065}'),
        ('\u{206a}', '\u{206f}'),
        ('\u{fe00}', '\u{fe0f}'),
        ('\u{feff}', '\u{feff}'),
        ('\u{fff0}', '\u{fffb}'),
        ('\u{1d173}', '\u{1d17a}'),
        ('\u{e0000}', '\u{e0fff}'),
    ];
    for character in ranges.into_iter().flat_map(|(first, last)| first..=last) {
        assert_eq!(seen(&format!("ig{character}nore")), "ignore", "{character:?}");
    }
}

#[test]
fn what_changes_the_letters_is_kept() {
    for kept in [
        // Persian, and the first letter of a word in an abbreviation.
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
        "\u{647}\u{200d}.",
        // A vowel sign between the letter and the joiner.
        "\u{628}\u{64e}\u{200c}\u{62a}",
        // Hindi, Sinhala, Bengali.
        "\u{915}\u{94d}\u{200d}\u{937} \u{915}\u{94d}\u{200c}\u{937}",
        "\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}",
        "\u{9b0}\u{200d}\u{9cd}\u{9af}\u{9be}\u{9ac}",
        // A woman with a skin tone and a rocket, a rainbow flag, a key, a heart, the sign of a registered name.
        "\u{1f469}\u{1f3fd}\u{200d}\u{1f680}",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} \u{2764}\u{fe0f}\u{200d}\u{1f525} \u{ae}\u{fe0e}",
        // Flags, accents, an Arabic sign of a year, spaces of different widths.
        "\u{1f1e9}\u{1f1ea} e\u{301} \u{601}\u{661} \u{a0}\u{2009}\u{3000}",
        "東京の図書館は毎週月曜日が休みです。 Größe",
    ] {
        assert_eq!(seen(kept), kept, "{kept:?}");
    }
}

#[test]
fn joiners_and_selectors_are_dropped_elsewhere() {
    for (text, shown) in [
        ("ig\u{200d}no\u{200c}re [1\u{200d}]", "ignore [1]"),
        ("a\u{fe0f} 1\u{fe0f} #\u{fe0f}", "a 1 #"),
        // One is enough.
        ("\u{628}\u{200c}\u{200d}\u{200c}\u{62a}", "\u{628}\u{200c}\u{62a}"),
        ("\u{2764}\u{fe0f}\u{fe0e}\u{fe0f}", "\u{2764}\u{fe0f}"),
        ("\u{1f469}\u{200d}a \u{1f469}\u{200d}", "\u{1f469}a \u{1f469}"),
        // Bytes in selectors and tags after an emoji.
        ("\u{1f600}\u{e0149}\u{e0157}\u{fe03}", "\u{1f600}"),
        ("\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", "\u{1f3f4}"),
    ] {
        assert_eq!(seen(text), shown, "{text:?}");
    }
}

#[test]
fn text_without_invisible_characters_is_not_copied() {
    for text in ["", "Wages.\r\n\tMonthly.", "Größe 東京 \u{645}\u{6cc} [1] <|im_end|> ---"] {
        assert!(matches!(seen(text), Cow::Borrowed(_)), "{text}");
    }
}

/// It would take hours if the time grew with the square of the length.
#[test]
fn a_long_text_is_read_once() {
    for piece in
        ["\u{200b}", "\u{628}\u{200c}", "\u{1f469}\u{200d}", "<|\u{202e}", "[1\u{fe0f}", "<\u{ff5c}a", "=\u{332}-"]
    {
        let text = piece.repeat(1_000_000);
        assert!(super::super::text(&text).len() <= 3 * text.len(), "{piece:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn seeing_twice_is_seeing_once(
        signs in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    '\u{200c}', '\u{200d}', '\u{200b}', '\u{fe0f}', '\u{fe0e}', '\u{20e3}', '\u{202e}', '\u{628}', '\u{64e}',
                    '\u{915}', '\u{94d}', '\u{9b0}', '\u{9cd}', '\u{1f469}', '\u{1f3fd}', '\u{1f680}', '1', 'a', '\u{e0041}',
                ]),
                any::<char>(),
            ],
            0..20,
        )
    ) {
        let text: String = signs.into_iter().collect();
        let once = seen(&text).into_owned();
        prop_assert_eq!(&seen(&once), &once);
        prop_assert!(!once.chars().any(|character| matches!(sight(character), Sight::Shown | Sight::Break | Sight::Blank)));
    }
}
