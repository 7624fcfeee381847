//! Reads the order of passages from the reply of a language model.

use crate::side_prompt::without_reasoning;

/// The reply has no number of a passage. The order stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply names no passage that was sent")]
pub struct Nonsense;

/// The positions of all `count` chunks in the order of a reply, of which the first `sent` had the numbers from 1 on.
///
/// The longest list of numbers in square brackets counts, of equal ones the last; without a list, all numbers in the
/// text do. Unknown and repeated numbers are ignored. Chunks that are not named come last, in their old order.
///
/// # Errors
///
/// [`Nonsense`] if no number of a passage is in the reply.
pub fn order(reply: &str, sent: usize, count: usize) -> Result<Vec<usize>, Nonsense> {
    let reply = without_reasoning(reply);
    let sent = sent.min(count);
    let named = longest_list(reply, sent).unwrap_or_else(|| positions(numbers_in_text(reply), sent));
    if named.is_empty() {
        return Err(Nonsense);
    }
    let mut is_named = vec![false; count];
    named.iter().for_each(|&position| is_named[position] = true);
    Ok(named.into_iter().chain((0..count).filter(|&position| !is_named[position])).collect())
}

/// The positions of the numbers that were sent, each once.
fn positions(numbers: impl Iterator<Item = usize>, sent: usize) -> Vec<usize> {
    let mut is_seen = vec![false; sent];
    let is_new = |position: &usize| is_seen.get_mut(*position).is_some_and(|seen| !std::mem::replace(seen, true));
    numbers.filter_map(|number| number.checked_sub(1)).filter(is_new).collect()
}

/// The longest list of at least two passages. A single number in brackets may be one of several in the text.
fn longest_list(reply: &str, sent: usize) -> Option<Vec<usize>> {
    let is_of_list = |character: char| {
        character.is_ascii_digit() || character.is_whitespace() || matches!(character, ',' | '"' | '\'')
    };
    let lists = reply.split('[').skip(1).filter_map(|after| after.split_once(']')).map(|(list, _)| list);
    lists
        .filter(|list| list.chars().all(is_of_list))
        .map(|list| positions(numbers(list), sent))
        .filter(|list| list.len() > 1)
        .max_by_key(Vec::len)
}

/// The numbers in a text, without those that number its lines.
fn numbers_in_text(text: &str) -> impl Iterator<Item = usize> + '_ {
    let are_numbered = are_numbered(text);
    text.lines()
        .map(move |line| line_number(line).filter(|_| are_numbered).map_or(line, |(_, rest)| rest))
        .flat_map(numbers)
}

/// Whether at least two lines have numbers, from 1 on.
fn are_numbered(text: &str) -> bool {
    let numbers: Vec<usize> = text.lines().filter_map(line_number).map(|(number, _)| number).collect();
    numbers.len() > 1 && numbers.iter().copied().eq(1..=numbers.len())
}

/// The number of a line such as `1. Passage 3`, and the rest, which has a number too.
fn line_number(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.trim_start().split_once(['.', ')'])?;
    let has_number = rest.starts_with(char::is_whitespace) && numbers(rest).next().is_some();
    number.parse().ok().filter(|_| has_number).map(|number| (number, rest))
}

/// The whole numbers in a text. Decimals are none: they may be scores.
fn numbers(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.split(|character: char| !character.is_ascii_digit() && character != '.')
        .filter_map(|number| number.trim_matches('.').parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_order_is_read_from_lists_and_from_text() {
        for (reply, expected) in [
            ("[3,1,2]", &[2, 0, 1, 3][..]),
            ("[3, 1, 2, 4]", &[2, 0, 1, 3]),
            ("{\"order\": [\"4\", \"2\"]}", &[3, 1, 0, 2]),
            ("```json\n[\n  4,\n  3\n]\n```", &[3, 2, 0, 1]),
            ("Of the 3 best, my order is [2, 1, 3].", &[1, 0, 2, 3]),
            ("[1, 2]? No: [4, 3, 2]. [1, 3] are alike.", &[3, 2, 1, 0]),
            ("<think>[1,2,3,4]</think>[2]", &[1, 0, 2, 3]),
            ("[4, 9, 4, 0, 2]", &[3, 1, 0, 2]),
            ("[3] > [1]", &[2, 0, 1, 3]),
            ("3", &[2, 0, 1, 3]),
            ("3, then 2.", &[2, 1, 0, 3]),
            ("Passage 2 (0.9), passage 4 (0.3)", &[1, 3, 0, 2]),
            ("1. Passage 3\n2. Passage 1\n3) [4]", &[2, 0, 3, 1]),
            ("1. Passage 3", &[0, 2, 1, 3]),
            ("1. is best\n2. is worse", &[0, 1, 2, 3]),
            ("3.\n1.\n2.", &[2, 0, 1, 3]),
            ("3. 1. 2.", &[2, 0, 1, 3]),
            ("4 99999999999999999999999 1", &[3, 0, 1, 2]),
        ] {
            assert_eq!(order(reply, 4, 4).as_deref(), Ok(expected), "{reply}");
        }
    }

    #[test]
    fn nonsense_names_no_passage() {
        for reply in ["", "[]", "I cannot rank these.", "[0, 5, -6]", "0.1", "[1, 2]</think>"] {
            assert_eq!(order(reply, 4, 4), Err(Nonsense), "{reply}");
        }
        assert_eq!(order("1", 0, 0), Err(Nonsense));
    }

    #[test]
    fn chunks_that_were_not_sent_come_last() {
        assert_eq!(order("[2, 3, 4]", 3, 5), Ok(vec![1, 2, 0, 3, 4]));
        assert_eq!(order("[2, 1]", 20, 2), Ok(vec![1, 0]));
    }

    proptest! {
        #[test]
        fn any_reply_gives_each_position_once(
            reply in "([0-9]|[\\[\\],. \na<>/])*|\\PC*",
            sent in 0_usize..8,
            rest in 0_usize..4,
        ) {
            if let Ok(mut order) = order(&reply, sent, sent + rest) {
                order.sort_unstable();
                prop_assert_eq!(order, (0..sent + rest).collect::<Vec<_>>());
            }
        }
    }
}
