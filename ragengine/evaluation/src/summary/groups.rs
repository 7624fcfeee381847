//! The groups of questions that have separate figures.

use std::collections::BTreeSet;

use crate::question::{Kind, Question, Split};

/// The groups of the answerable questions, each with the positions of its questions: all, each kind, each split if
/// there are both, and each group that the file names.
pub(super) fn groups(questions: &[Question]) -> Vec<(String, Vec<usize>)> {
    let members = |belongs: &dyn Fn(&Question) -> bool| -> Vec<usize> {
        let answerable = questions.iter().enumerate().filter(|(_, question)| question.kind.is_answerable());
        answerable.filter(|(_, question)| belongs(question)).map(|(position, _)| position).collect()
    };
    let mut groups = vec![("all".to_owned(), members(&|_| true))];
    for kind in Kind::ALL {
        groups.push((kind.name().to_owned(), members(&|question| question.kind == kind)));
    }
    if Split::ALL.iter().all(|&split| questions.iter().any(|question| question.split == split)) {
        for split in Split::ALL {
            groups.push((format!("split {}", split.name()), members(&|question| question.split == split)));
        }
    }
    let named: BTreeSet<&String> = questions.iter().filter_map(|question| question.group.as_ref()).collect();
    for name in named {
        groups.push((name.clone(), members(&|question| question.group.as_ref() == Some(name))));
    }
    groups.retain(|(_, members)| !members.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::parse;

    #[test]
    fn kinds_splits_and_named_groups_without_questions_are_left_out() {
        let text = "{\"id\":\"1\",\"kind\":\"known-item\",\"split\":\"tune\",\"group\":\"code\",\
                     \"query\":\"q\",\"relevant\":[\"a\"]}\n\
                    {\"id\":\"2\",\"kind\":\"known-item\",\"query\":\"q\",\"relevant\":[\"b\"]}\n\
                    {\"id\":\"3\",\"kind\":\"unanswerable\",\"group\":\"prose\",\"query\":\"q\"}";
        let found = groups(&parse(text).unwrap());
        let found: Vec<(&str, &[usize])> =
            found.iter().map(|(name, members)| (name.as_str(), members.as_slice())).collect();
        let expected: [(&str, &[usize]); 5] =
            [("all", &[0, 1]), ("known-item", &[0, 1]), ("split tune", &[0]), ("split report", &[1]), ("code", &[0])];
        assert_eq!(found, expected);
    }
}
