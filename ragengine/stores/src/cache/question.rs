/// Longer questions are compared as they are. In bytes.
const MAX_BYTES: usize = 16 * 1024;

/// Is not a part of a word when it is at an end of it: punctuation of European languages, Arabic and Hebrew, Indic
/// languages, and Chinese, Japanese and Korean.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', '"', '\'', '(', ')', '[', ']', '¿', '¡', '“', '”', '„', '‘', '’', '‚', '«', '»', '‹',
    '›', '…', '،', '؛', '؟', '۔', '״', '׳', '।', '॥', '。', '、', '，', '．', '；', '：', '！', '？', '（', '）', '「',
    '」', '『', '』', '《', '》', '〈', '〉', '【', '】', '・',
];

/// A question in the form in which questions are compared: in lower case, without punctuation at the ends of words, and
/// with one space between words. Punctuation within a word stays, so that `1.5` and `15` are two questions. A question
/// of more than 16 KiB stays as it is.
pub fn normalised(question: &str) -> String {
    if question.len() > MAX_BYTES {
        return question.to_owned();
    }
    let mut normalised = String::with_capacity(question.len());
    let words = question.split_whitespace().map(|word| word.trim_matches(PUNCTUATION));
    for word in words.filter(|word| !word.is_empty()) {
        if !normalised.is_empty() {
            normalised.push(' ');
        }
        // Each word by itself: the lower case of a Greek letter depends on its neighbours.
        normalised.push_str(&word.to_lowercase());
    }
    normalised
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn questions_that_differ_in_case_and_punctuation_are_equal() {
        for (question, expected) in [
            ("When are reports due?", "when are reports due"),
            ("  when   ARE\treports\n due ?! ", "when are reports due"),
            ("\"When\" (are) [reports] 'due'...", "when are reports due"),
            ("¿Wann? ÄRGER ÉTÉ", "wann ärger été"),
            ("“What” is «KAITO»…", "what is kaito"),
            ("退款政策是什么？", "退款政策是什么"),
            ("「返品」はいつまで。", "返品」はいつまで"),
            ("ما هي السياسة؟", "ما هي السياسة"),
            ("ΟΔΟΣ? ΟΔΟΣ", "οδος οδος"),
            ("İstanbul", "i\u{307}stanbul"),
            ("Version 1.5, or 15?", "version 1.5 or 15"),
            ("don't a:b x(y) e.g. .5", "don't a:b x(y e.g 5"),
            ("C++ #1 50% -5", "c++ #1 50% -5"),
            ("?! . ()", ""),
            ("", ""),
            ("a\u{a0}b\u{3000}c", "a b c"),
        ] {
            assert_eq!(normalised(question), expected, "{question}");
        }
        assert_ne!(normalised("1.5"), normalised("15"));
    }

    #[test]
    fn a_very_long_question_stays_as_it_is() {
        let question = "Why? ".repeat(MAX_BYTES / 5);
        assert!(question.len() <= MAX_BYTES && normalised(&question).starts_with("why why"));
        let question = "Why? ".repeat(MAX_BYTES / 5 + 1);
        assert_eq!(normalised(&question), question);
    }

    proptest! {
        #[test]
        fn the_form_of_a_form_is_the_same(question in ".{0,60}|[A-Za-z0-9.,?!\"'() ΣσİßK\u{307}\n]{0,40}") {
            let once = normalised(&question);
            prop_assert_eq!(normalised(&once), &once[..]);
            prop_assert!(!once.starts_with(' ') && !once.ends_with(' ') && !once.contains("  "));
        }

        #[test]
        fn punctuation_around_words_changes_nothing(
            words in proptest::collection::vec("[a-zA-ZäΣ0-9]{1,6}", 0..6),
            marks in "[.,;:!?\"'()\\[\\]]{0,4}",
        ) {
            let marked: Vec<String> = words.iter().map(|word| format!("{marks}{word}{marks}")).collect();
            prop_assert_eq!(normalised(&marked.join("  ")), normalised(&words.join(" ")));
        }
    }
}
