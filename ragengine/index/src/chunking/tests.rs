use proptest::prelude::*;
use ragengine_compute::{Presence, Waiter};
use serde_json::json;

mod documents;
mod effort;

use super::headings::Headings;
use super::*;

/// Counts words and punctuation: similar to a tokenizer, and easy to predict.
fn count(text: &str) -> usize {
    text.split_whitespace().map(|word| word.len().div_ceil(6)).sum()
}

fn unlimited() -> Work {
    Work::begin(Waiter::default(), None)
}

fn headings(text: &str, max_tokens: usize) -> Headings {
    let work = unlimited();
    let read = markdown::read(text, &work).unwrap().headings;
    Headings::of(read, max_tokens, Counter { count: &count, work: &work }).unwrap()
}

fn sizes(max_tokens: usize, overlap_tokens: usize) -> Sizes {
    Sizes { max_tokens, overlap_tokens, max_passage_tokens: 254 }
}

fn cut(text: &str, split: SplitType, sizes: Sizes) -> Vec<Chunk> {
    let chunks = super::cut(text, split, sizes, &count, &unlimited()).unwrap();
    for chunk in &chunks {
        assert!(count(&chunk.embedded_text()) <= sizes.max_tokens, "{chunk:?}");
    }
    chunks
}

fn texts(chunks: &[Chunk]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

#[test]
fn prose_is_cut_between_sentences() {
    let text = "One two three four. Five six seven eight. Nine ten eleven twelve.";
    let chunks = cut(text, SplitType::Prose, sizes(9, 0));
    assert_eq!(texts(&chunks), ["One two three four. Five six seven eight.", "Nine ten eleven twelve."]);
}

#[test]
fn chunks_overlap_by_whole_sentences() {
    let text = "Aa bb cc. Dd ee ff. Gg hh ii. Jj kk ll.";
    let chunks = cut(text, SplitType::Prose, sizes(6, 3));
    assert_eq!(texts(&chunks), ["Aa bb cc. Dd ee ff.", "Dd ee ff. Gg hh ii.", "Gg hh ii. Jj kk ll."]);
}

#[test]
fn markdown_chunks_have_their_headings() {
    let text = "Before any heading there is a line of text.\n\n\
                # Handbook\n\nWelcome to all of you who are new here.\n\n\
                ## Leave\n\nTell us first, please, three days before you go.\n\n\
                ### Sick\n\nStay at home then and tell us on the same day.\n\n\
                ## Pay\n\nOn the last working day of each month it is paid.\n";
    let chunks = cut(text, SplitType::Markdown, sizes(24, 0));
    let placed: Vec<(Option<&str>, bool)> =
        chunks.iter().map(|chunk| (chunk.heading.as_deref(), chunk.text.contains("home"))).collect();
    assert_eq!(placed[0].0, None);
    assert!(placed.contains(&(Some("Handbook > Leave > Sick"), true)), "{placed:?}");
    assert_eq!(placed.last().unwrap().0, Some("Handbook > Pay"));
}

#[test]
fn a_heading_that_is_too_long_loses_its_outer_parts() {
    let text = format!("# {}\n\n## Inner\n\nSome text here.\n", "outer ".repeat(60));
    let headings = headings(&text, 10);
    assert_eq!(headings.above(text.find("Some").unwrap()).as_deref(), Some("Inner"));
    assert_eq!((headings.above(0), headings.longest_tokens()), (None, 1));
}

#[test]
fn a_chunk_never_spans_a_heading() {
    let text = "Intro.\n\n# A\n\n## B\n\nAbout b.\n\n## C\n\nAbout c.\n";
    let chunks = cut(text, SplitType::Markdown, sizes(200, 0));
    let shown: Vec<(Option<&str>, &str)> =
        chunks.iter().map(|chunk| (chunk.heading.as_deref(), chunk.text.as_str())).collect();
    assert_eq!(
        shown,
        [(None, "Intro."), (Some("A > B"), "# A\n\n## B\n\nAbout b."), (Some("A > C"), "## C\n\nAbout c.")]
    );
}

#[test]
fn a_chunk_never_spans_pages_and_has_its_page() {
    let placed = |text: &str, max_tokens: usize| {
        let chunks = cut(text, SplitType::Pages, sizes(max_tokens, max_tokens / 3));
        chunks.into_iter().map(|chunk| (chunk.page.unwrap(), chunk.text)).collect::<Vec<_>>()
    };
    let page = |page: u32, text: &str| (page, text.to_owned());
    for (text, max_tokens, expected) in [
        ("One page.", 50, vec![page(1, "One page.")]),
        ("First.\u{C}Second.", 50, vec![page(1, "First."), page(2, "Second.")]),
        ("\u{C} \n\u{C}Third.\n\u{C}", 50, vec![page(3, "Third.")]),
        // A sentence that continues on the next page is in two chunks.
        ("It goes\u{C}on. And on.", 50, vec![page(1, "It goes"), page(2, "on. And on.")]),
        // Chunks of a page overlap; chunks of different pages do not.
        (
            "Aa bb cc. Dd ee ff. Gg hh ii.\u{C}Jj kk ll.",
            9,
            vec![page(1, "Aa bb cc. Dd ee ff. Gg hh ii."), page(2, "Jj kk ll.")],
        ),
        (
            "Aa bb cc. Dd ee ff. Gg hh ii.\u{C}Jj kk ll.",
            6,
            vec![page(1, "Aa bb cc. Dd ee ff."), page(1, "Gg hh ii."), page(2, "Jj kk ll.")],
        ),
    ] {
        assert_eq!(placed(text, max_tokens), expected, "{text:?}");
    }
    // Other split types ignore page breaks.
    assert!(cut("First.\u{C}Second.", SplitType::Prose, sizes(50, 0)).iter().all(|chunk| chunk.page.is_none()));
}

#[test]
fn front_matter_is_not_a_heading() {
    let headings = headings("---\ntitle: Page\n---\n\n# Real\n\nText.\n", 10);
    assert_eq!((headings.above(5), headings.above(27).as_deref()), (None, Some("Real")));
}

#[test]
fn work_stops_when_the_client_disconnects() {
    let text = "Some words, and more of them. ".repeat(10_000);
    let presence = std::cell::RefCell::new(Some(Presence::default()));
    let work = Work::begin(presence.borrow().as_ref().unwrap().waiter(), None);
    let counted = std::cell::Cell::new(0);
    let count = |text: &str| {
        counted.set(counted.get() + text.len());
        if counted.get() > 100_000 {
            presence.borrow_mut().take();
        }
        count(text)
    };
    let ended = super::cut(&text, SplitType::Prose, sizes(200, 20), &count, &work);
    assert_eq!(ended, Err(ChunkingError::Stopped(Stopped::Unwanted)));
    assert!(counted.get() < 120_000, "{}", counted.get());
}

#[test]
fn excessively_nested_or_divided_text_is_cut_as_prose() {
    let deep = format!("{}\nlast line\n", "{\n".repeat(300));
    let code = cut(&deep, SplitType::Code(Language::Rust), sizes(30, 0));
    assert_eq!(code, cut(&deep, SplitType::Prose, sizes(30, 0)));
    let ambiguous = "a<".repeat(30_000);
    let code = cut(&ambiguous, SplitType::Code(Language::Java), sizes(200, 0));
    assert_eq!(code, cut(&ambiguous, SplitType::Prose, sizes(200, 0)));
    let quotes = format!("{}a\n{}", "> ".repeat(500), "# b\n\nc\n".repeat(9));
    assert!(cut(&quotes, SplitType::Markdown, sizes(200, 0)).iter().all(|chunk| chunk.heading.is_none()));
    let headings = "## a\nb\n".repeat(300);
    assert!(cut(&headings, SplitType::Markdown, sizes(30, 0)).iter().all(|chunk| chunk.heading.is_none()));
    let pages = "a\u{C}".repeat(300);
    assert!(cut(&pages, SplitType::Pages, sizes(30, 0)).iter().all(|chunk| chunk.page.is_none()));
    let fewer = cut(&"## a\nb\n".repeat(200), SplitType::Markdown, sizes(30, 0));
    assert!(fewer.len() == 200 && fewer.iter().all(|chunk| chunk.heading.as_deref() == Some("a")));
}

#[test]
fn titles_and_paths_have_limits() {
    let text = format!("# {}\n\n## Inner\n\nText.\n", "x".repeat(1000));
    let long = headings(&text, 64);
    assert_eq!(long.above(10).map(|path| path.chars().count()), Some(200));
    assert!(long.above(text.len()).unwrap().ends_with("x > Inner"));
    assert!(headings(&format!("# {}\n", "word ".repeat(100)), 1000).longest_tokens() <= 64);
}

#[test]
fn code_is_cut_between_functions() {
    for (language, text) in [
        (
            Language::Rust,
            "fn alpha() -> u32 {\n    let one = 1;\n    one + 1\n}\n\n\
             fn beta() -> u32 {\n    let two = 2;\n    two + 2\n}\n",
        ),
        (
            Language::Go,
            "package main\n\nfunc alpha() int {\n\tone := 1\n\treturn one + 1\n}\n\n\
             func beta() int {\n\ttwo := 2\n\treturn two + 2\n}\n",
        ),
        (
            Language::Python,
            "def alpha():\n    one = 1\n    return one + 1\n\n\ndef beta():\n    two = 2\n    return two + 2\n",
        ),
        (
            Language::Java,
            concat!(
                "class A {\n  int alpha() {\n    int one = 1;\n    return one + 1;\n  }\n\n",
                "  int beta() {\n    int two = 2;\n    return two;\n  }\n}\n",
            ),
        ),
        (
            Language::JavaScript,
            "function alpha() {\n  const one = 1;\n  return one + 1;\n}\n\n\
             function beta() {\n  const two = 2;\n  return two + 2;\n}\n",
        ),
        (
            Language::TypeScript,
            "function alpha(): number {\n  const one = 1;\n  return one;\n}\n\n\
             function beta(): number {\n  const two = 2;\n  return two;\n}\n",
        ),
        (
            Language::C,
            "int alpha(void) {\n  int one = 1;\n  return one + 1;\n}\n\n\
             int beta(void) {\n  int two = 2;\n  return two + 2;\n}\n",
        ),
        (
            Language::Cpp,
            "auto alpha() {\n  int one = 1;\n  return one + 1;\n}\n\n\
             auto beta() {\n  int two = 2;\n  return two + 2;\n}\n",
        ),
    ] {
        let chunks = cut(text, SplitType::Code(language), sizes(14, 0));
        assert!(chunks.len() >= 2, "{}: {chunks:?}", language.name());
        let has_both = |chunk: &Chunk| chunk.text.contains("one = 1") && chunk.text.contains("two = 2");
        assert!(
            !chunks
                .iter()
                .any(|chunk| has_both(chunk) || chunk.text.contains("one := 1") && chunk.text.contains("two := 2"))
        );
        assert!(chunks.iter().any(|chunk| chunk.text.contains("beta")), "{}", language.name());
    }
}

#[test]
fn the_split_type_is_in_the_metadata() {
    let of = |metadata: serde_json::Value| SplitType::of(metadata.as_object().unwrap());
    assert_eq!(of(json!({})), Ok(SplitType::Prose));
    assert_eq!(of(json!({"split_type": "default"})), Ok(SplitType::Prose));
    assert_eq!(of(json!({"split_type": "markdown"})), Ok(SplitType::Markdown));
    assert_eq!(of(json!({"split_type": "pages"})), Ok(SplitType::Pages));
    for language in Language::ALL {
        assert_eq!(of(json!({"split_type": "code", "language": language.name()})), Ok(SplitType::Code(language)));
    }
    assert_eq!(of(json!({"split_type": "code", "language": "C++"})), Ok(SplitType::Code(Language::Cpp)));
    for metadata in [
        json!({"split_type": "sheets"}),
        json!({"split_type": 1}),
        json!({"split_type": "code"}),
        json!({"split_type": "code", "language": "cobol"}),
    ] {
        let message = of(metadata.clone()).unwrap_err();
        assert!(message.contains("use") || message.contains("one of") || message.contains("must be"), "{message}");
    }
}

#[test]
fn default_sizes_depend_on_the_model() {
    for (max_tokens, overlap, model, expected) in [
        (None, None, 254, (254, 25)),
        (None, None, 8000, (512, 51)),
        (Some(100), None, 254, (100, 10)),
        (Some(600), Some(5), 254, (254, 5)),
        (Some(100), Some(99), 254, (100, 50)),
    ] {
        let sizes = Sizes::resolve(max_tokens, overlap, model);
        assert_eq!((sizes.max_tokens, sizes.overlap_tokens), expected);
    }
}

proptest! {
    #[test]
    fn every_word_is_in_a_chunk_and_no_chunk_is_too_long(
        text in r"([a-z]{1,12}(\. |\n|\n\n# | |\x0c)){1,200}", max_tokens in 8_usize..60,
        split in prop_oneof![Just(SplitType::Prose), Just(SplitType::Markdown), Just(SplitType::Pages)],
    ) {
        let chunks = cut(&text, split, sizes(max_tokens, max_tokens / 10));
        let all = chunks.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>().join(" ");
        for word in text.split(|character: char| !character.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
            prop_assert!(all.contains(word), "{word} is lost");
        }
    }
}
