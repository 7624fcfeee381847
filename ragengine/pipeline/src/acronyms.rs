//! Expands acronyms in a query before it is embedded.

use std::collections::BTreeMap;

/// The query with each acronym expanded once: `GaCounts` becomes `Georgia Counts (GaCounts)`. Acronyms are whole words,
/// in the case in which they are configured. One that already stands beside its expansion is left as it is. `None` if
/// nothing changes.
pub fn expand(acronyms: &BTreeMap<String, String>, query: &str) -> Option<String> {
    let mut places: Vec<(usize, &str, &str)> = acronyms
        .iter()
        .filter(|(acronym, expansion)| !acronym.is_empty() && !stands_beside(query, acronym, expansion))
        .filter_map(|(acronym, expansion)| Some((first_word(query, acronym)?, acronym.as_str(), expansion.as_str())))
        .collect();
    // The longer one of two acronyms at the same place.
    places.sort_unstable_by_key(|(place, acronym, _)| (*place, std::cmp::Reverse(acronym.len())));
    let (mut expanded, mut end) = (String::new(), 0);
    for (place, acronym, expansion) in places {
        if place < end {
            continue;
        }
        expanded.extend([&query[end..place], expansion, " (", acronym, ")"]);
        end = place + acronym.len();
    }
    expanded.push_str(&query[end..]);
    (end > 0).then_some(expanded)
}

/// The place of the first occurrence as a whole word.
fn first_word(text: &str, word: &str) -> Option<usize> {
    words(text, word).next()
}

/// The places of a word.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |character: Option<char>| character.is_some_and(|found| found.is_alphanumeric() || found == '_');
    text.match_indices(word).map(|(place, _)| place).filter(move |&place| {
        !is_part(text[..place].chars().next_back()) && !is_part(text[place + word.len()..].chars().next())
    })
}

/// Whether the expansion stands directly before or after the acronym, in any case, also with brackets.
fn stands_beside(text: &str, acronym: &str, expansion: &str) -> bool {
    let is_gap = |character: char| character.is_whitespace() || matches!(character, '(' | ')');
    words(text, acronym).any(|place| {
        let before = text[..place].trim_end_matches(is_gap);
        let after = text[place + acronym.len()..].trim_start_matches(is_gap);
        starts_with(lower(expansion).rev(), lower(before).rev()) || starts_with(lower(expansion), lower(after))
    })
}

fn lower(text: &str) -> impl DoubleEndedIterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

fn starts_with(wanted: impl Iterator<Item = char>, mut text: impl Iterator<Item = char>) -> bool {
    wanted.map(Some).all(|wanted| text.next() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acronyms_are_expanded_once_as_whole_words() {
        let acronyms: BTreeMap<String, String> = [
            ("GaCounts", "Georgia Counts"),
            ("ABO", "Administrative Business Office"),
            ("OLOD", "Office of Leadership and Organizational Development"),
            ("OIT", "Office of Instructional Technology"),
            ("OIT desk", "help desk"),
            ("Ü", "Übung"),
        ]
        .map(|(acronym, expansion)| (acronym.to_owned(), expansion.to_owned()))
        .into();
        for (query, expected) in [
            ("GaCounts", Some("Georgia Counts (GaCounts)")),
            ("How do I report in GaCounts?", Some("How do I report in Georgia Counts (GaCounts)?")),
            ("ABO or ABO", Some("Administrative Business Office (ABO) or ABO")),
            (
                "OIT and OLOD",
                Some(
                    "Office of Instructional Technology (OIT) and Office of Leadership and Organizational Development \
                     (OLOD)",
                ),
            ),
            ("Call the OIT desk", Some("Call the help desk (OIT desk)")),
            ("Ü?", Some("Übung (Ü)?")),
            ("Georgia Counts (GaCounts)", None),
            ("GaCounts (georgia counts)", None),
            ("gacounts", None),
            ("GaCountsApp, my_ABO, ABO2", None),
            ("", None),
        ] {
            assert_eq!(expand(&acronyms, query).as_deref(), expected, "{query}");
        }
    }
}
