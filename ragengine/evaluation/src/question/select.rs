//! Which questions are used for what.

use sha2::{Digest as _, Sha256};

use super::{Question, Split};

/// The questions to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitChoice {
    /// Those of one split.
    Only(Split),
    /// All of them.
    All,
}

/// The questions of a split.
pub fn select(questions: Vec<Question>, choice: SplitChoice) -> Vec<Question> {
    let is_chosen = |question: &Question| match choice {
        SplitChoice::Only(split) => question.split == split,
        SplitChoice::All => true,
    };
    questions.into_iter().filter(is_chosen).collect()
}

/// The split of a question of this repository. It depends on the first relevant document, so that all questions about a
/// document have the same split, and tuning has not seen any document that is reported on. An unanswerable question has
/// no document, so its own id is used.
pub fn split_of(question: &Question) -> Split {
    let key = question.relevant.first().unwrap_or(&question.id);
    let is_even = Sha256::digest(key).first().is_some_and(|byte| byte % 2 == 0);
    if is_even { Split::Tune } else { Split::Report }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Kind, parse};
    use super::*;

    fn own() -> Vec<Question> {
        parse(include_str!("../../data/queries.jsonl")).unwrap()
    }

    fn short() -> Vec<Question> {
        parse(include_str!("../../data/short.jsonl")).unwrap()
    }

    #[test]
    fn each_question_of_this_repository_has_the_split_of_its_first_document() {
        for question in own().into_iter().chain(short()) {
            assert_eq!(question.split, split_of(&question), "{}", question.id);
        }
    }

    #[test]
    fn this_repository_has_enough_questions_of_each_kind_about_each_kind_of_text() {
        let mut counts: BTreeMap<(Kind, String), usize> = BTreeMap::new();
        for question in own() {
            *counts.entry((question.kind, question.group.unwrap())).or_default() += 1;
        }
        for (kind, needed) in [(Kind::KnownItem, 200), (Kind::Paraphrase, 200), (Kind::Unanswerable, 100)] {
            let of_kind: Vec<usize> = counts.iter().filter(|((own, _), _)| *own == kind).map(|(_, &n)| n).collect();
            assert!(of_kind.iter().sum::<usize>() >= needed, "{kind:?}: {of_kind:?}");
            assert!(of_kind.len() == 3 && of_kind.iter().all(|&count| count >= needed / 4), "{kind:?}: {of_kind:?}");
        }
    }

    #[test]
    fn the_short_questions_are_short_and_as_many_have_an_answer_as_not() {
        assert!(short().iter().all(|question| question.query.split_whitespace().count() <= 7));
        let (unanswerable, answerable): (Vec<_>, Vec<_>) =
            short().into_iter().partition(|question| question.kind == Kind::Unanswerable);
        assert!(answerable.len() >= 100 && unanswerable.len() >= 100);
    }

    #[test]
    fn a_split_is_about_half_of_the_questions() {
        let all = own().len();
        let report = select(own(), SplitChoice::Only(Split::Report)).len();
        let tune = select(own(), SplitChoice::Only(Split::Tune)).len();
        assert_eq!((tune + report, select(own(), SplitChoice::All).len()), (all, all));
        assert!(tune * 5 > all * 2 && report * 5 > all * 2, "{tune} and {report}");
    }
}
