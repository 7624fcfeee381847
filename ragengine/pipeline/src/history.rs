//! The history of a session: the newest turns that fit into the window.

/// A question of a session and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    /// The question, as it was written.
    pub question: String,
    /// The answer, as far as it was sent.
    pub answer: String,
}

impl PastTurn {
    /// Whether the turn can be in a prompt. Many models refuse a conversation without answers between questions.
    fn is_whole(&self) -> bool {
        !self.question.trim().is_empty() && !self.answer.trim().is_empty()
    }
}

/// The newest turns of `turns`, oldest first, that have at most `max_tokens` together, and how many they have. A turn is
/// used whole or not at all, so the history begins with a question. `count` returns the tokens of a turn.
pub fn newest(turns: Vec<PastTurn>, max_tokens: u64, count: impl Fn(&PastTurn) -> u64) -> (Vec<PastTurn>, u64) {
    let (mut newest, mut used) = (Vec::new(), 0);
    for turn in turns.into_iter().rev().filter(PastTurn::is_whole) {
        let with_turn = count(&turn).saturating_add(used);
        if with_turn > max_tokens {
            break;
        }
        used = with_turn;
        newest.push(turn);
    }
    newest.reverse();
    (newest, used)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(question: &str, answer: &str) -> PastTurn {
        PastTurn { question: question.to_owned(), answer: answer.to_owned() }
    }

    fn length(turn: &PastTurn) -> u64 {
        (turn.question.len() + turn.answer.len()) as u64
    }

    #[test]
    fn older_turns_go_first() {
        let turns = || vec![turn("a", "1"), turn("bb", "22"), turn("c", "3")];
        for (max_tokens, questions) in [(0, ""), (1, ""), (2, "c"), (5, "c"), (6, "bbc"), (8, "abbc"), (100, "abbc")] {
            let kept: String = newest(turns(), max_tokens, length).0.into_iter().map(|turn| turn.question).collect();
            assert_eq!(kept, questions, "{max_tokens}");
        }
    }

    #[test]
    fn a_long_turn_ends_the_history() {
        let turns = vec![turn("a", "1"), turn("b", &"long".repeat(10)), turn("c", "3")];
        assert_eq!(newest(turns, 10, length), (vec![turn("c", "3")], 2));
    }

    #[test]
    fn a_question_without_an_answer_is_left_out() {
        let turns = vec![turn("a", "1"), turn("b", " \n"), turn("", "2"), turn("c", "3")];
        assert_eq!(newest(turns, 100, length), (vec![turn("a", "1"), turn("c", "3")], 4));
    }

    proptest! {
        #[test]
        fn the_history_fits_and_no_other_turn_would(lengths in proptest::collection::vec(1_usize..50, 0..40), max in 0_u64..600) {
            let turns: Vec<PastTurn> = lengths.iter().map(|length| turn(&"q".repeat(*length), "a")).collect();
            let (kept, used) = newest(turns.clone(), max, length);
            prop_assert!(turns.ends_with(&kept));
            prop_assert_eq!(kept.iter().map(length).sum::<u64>(), used);
            prop_assert!(used <= max);
            if kept.len() < turns.len() {
                let with_one_more = &turns[turns.len() - kept.len() - 1..];
                prop_assert!(with_one_more.iter().map(length).sum::<u64>() > max);
            }
        }
    }
}
