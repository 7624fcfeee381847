//! Examples that need several modules, and the cases of [`build_context`].

use proptest::prelude::*;

use super::Interaction;
use super::build::{Built, EntryDecision, EntryLimits, build_context};
use super::entries::entries;

fn said<'a>(question: &'a str, answer: &'a str) -> Interaction<'a> {
    Interaction { question, answer, ..Interaction::default() }
}

fn built(interactions: &[Interaction<'_>], max_chars: usize, include_metadata: bool) -> Built {
    build_context(interactions, EntryLimits { max_chars, include_metadata, ..EntryLimits::default() })
}

#[test]
fn a_context_of_two_interactions_is_written_and_valid() {
    let ai = Interaction {
        provider: Some("openai/gpt-4o"),
        category: Some("reasoning"),
        similarity: Some(0.9),
        ..said("What is AI?", "AI is artificial intelligence...")
    };
    let code = Interaction {
        provider: Some("anthropic/claude"),
        category: Some("coding"),
        similarity: Some(0.8),
        ..said("How to code?", "Start with basics...")
    };
    let built = built(&[ai, code], 1000, true);
    assert_eq!(
        built.context(),
        "[openai/gpt-4o/reasoning - similarity: 0.900]\nQ: What is AI?\nA: AI is artificial intelligence...\n\n---\n\n\
         [anthropic/claude/coding - similarity: 0.800]\nQ: How to code?\nA: Start with basics..."
    );
    let log_line = "Built RAG context from 2 similar interactions (181 chars)";
    assert_eq!(built.log_line().as_deref(), Some(log_line));
    assert_eq!(super::validity::validate_context(&built.context()), Ok(()));
}

#[test]
fn an_interaction_without_a_similarity_has_one_of_0() {
    let interaction =
        Interaction { provider: Some("test/model"), category: Some("general"), ..said("Test query", "Test response") };
    let context = built(&[interaction], 2000, true).context();
    assert_eq!(context, "[test/model/general - similarity: 0.000]\nQ: Test query\nA: Test response");
}

#[test]
fn missing_values_are_unknown_and_texts_are_trimmed() {
    let bare = said(" Why?\n", "\tSo.  ");
    assert_eq!(built(&[bare], 2000, true).context(), "[unknown/unknown - similarity: 0.000]\nQ: Why?\nA: So.");
    assert_eq!(built(&[bare], 2000, false).context(), "Q: Why?\nA: So.");
    for (similarity, written) in [(0.8924, "0.892"), (0.0625, "0.062"), (1.0, "1.000"), (-0.25, "-0.250")] {
        let context = built(&[Interaction { similarity: Some(similarity), ..bare }], 2000, true).context();
        assert!(context.contains(&format!("similarity: {written}]")), "{context}");
    }
}

#[test]
fn the_context_stops_at_its_limits() {
    use EntryDecision::*;
    // Each entry has ten characters: the limits count characters, not bytes.
    let (whole, no_answer) = (said("üß", "é"), said("ü", " \n"));
    for (interactions, max_chars, decisions, chars) in [
        (vec![], 20, vec![], 0),
        (vec![whole; 3], 20, vec![Taken, Taken, Cut], 20),
        (vec![whole; 3], 19, vec![Taken, Cut, Cut], 10),
        (vec![whole; 2], 0, vec![Taken, Cut], 10),
        (vec![whole; 7], 2000, vec![Taken, Taken, Taken, Taken, Taken, Cut, Cut], 50),
        (vec![no_answer, whole, said("", "é"), whole], 2000, vec![Skipped, Taken, Skipped, Taken], 20),
        (vec![no_answer], 2000, vec![Skipped], 0),
        // It stops at the first entry that is too long, and does not look for a shorter one.
        (vec![whole, said("long", "longer"), whole], 20, vec![Taken, Cut, Cut], 10),
    ] {
        let built = built(&interactions, max_chars, false);
        assert_eq!((&built.decisions, built.total_chars()), (&decisions, chars), "{max_chars}");
        assert_eq!(built.log_line().is_some(), chars > 0);
        assert_eq!(built.context().is_empty(), chars == 0);
    }
}

#[test]
fn the_last_entry_can_be_cut() {
    use EntryDecision::*;
    let mut built = built(&[said("Why?", ""), said("Why?", "So."), said("How?", "Thus.")], 2000, false);
    for (context, decisions) in [("Q: Why?\nA: So.", [Skipped, Taken, Cut]), ("", [Skipped, Cut, Cut])] {
        built.cut_last();
        assert_eq!((&*built.context(), built.decisions.as_slice()), (context, &decisions[..]));
    }
    built.cut_last();
    assert_eq!(built.context(), "");
}

#[test]
fn entries_are_filtered_whole() {
    let interactions = [
        said("How are cakes made?", "With flour."),
        said("What is Python?", "Names:\n\n---\n\na language, a snake"),
        said("", "Nothing"),
        said("Which Python programs exist?", "Many"),
    ];
    let mut built = built(&interactions, 2000, false);
    built.keep_relevant("Programming in Python", 3, 0.1);
    let context = "Q: Which Python programs exist?\nA: Many\n\n---\n\nQ: What is Python?\nA: Names:\n\n---\n\na \
                   language, a snake";
    assert_eq!(built.context(), context);
    assert_eq!(
        built.decisions.iter().map(|decision| decision.label()).collect::<Vec<_>>(),
        ["filtered", "taken", "skipped", "taken"]
    );
    built.keep_relevant("", 1, 0.1);
    assert_eq!(built.context(), context, "An empty question changes nothing.");
    built.keep_relevant("Nothing of it", 3, 0.1);
    assert_eq!((built.log_line(), built.context()), (None, String::new()));
    assert_eq!(EntryDecision::Cut.label(), "cut");
}

proptest! {
    #[test]
    fn a_context_is_within_its_limits(
        texts in proptest::collection::vec(("[a-zü ]{0,20}", "[a-z ]{0,20}"), 0..9),
        max_chars in 0_usize..150,
        include_metadata in proptest::bool::ANY,
    ) {
        let interactions: Vec<_> = texts.iter().map(|(question, answer)| said(question, answer)).collect();
        let built = built(&interactions, max_chars, include_metadata);
        let taken = built.entries.len();
        prop_assert!(taken <= 5 && (taken <= 1 || built.total_chars() <= max_chars));
        prop_assert_eq!(built.decisions.iter().filter(|decision| **decision == EntryDecision::Taken).count(), taken);
        prop_assert!(taken == 0 || entries(&built.context()).len() == taken);
        let has_both = |(question, answer): &(String, String)| !question.trim().is_empty() && !answer.trim().is_empty();
        prop_assert_eq!(taken > 0, texts.iter().any(has_both));
    }
}
