//! The figures of each configuration.

mod groups;
mod measure;

use crate::interval::{Estimate, mean, share};
use crate::question::Question;

use self::groups::groups;

pub use measure::Measure;

/// What a server answered in one configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The name of the configuration.
    pub configuration: String,
    /// The ranking of each question, in the order of the questions.
    pub rankings: Vec<Vec<String>>,
    /// What each threshold did.
    pub thresholds: Vec<ObservedThreshold>,
}

/// Whether a threshold let any context through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedThreshold {
    /// The name of the threshold.
    pub threshold: String,
    /// Whether each question got context, in the order of the questions. None if the server does not say.
    pub context: Option<Vec<bool>>,
}

/// All figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How well documents are found: the first group has all answerable questions.
    pub groups: Vec<Group>,
    /// Who gets context.
    pub thresholds: Vec<ThresholdRow>,
    /// Number of answerable questions.
    pub answerable: usize,
    /// Number of unanswerable questions.
    pub unanswerable: usize,
}

/// Figures over some of the answerable questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The name, for example `paraphrase`.
    pub name: String,
    /// Number of questions.
    pub questions: usize,
    /// The figures of each configuration.
    pub rows: Vec<Row>,
}

/// Figures of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The name of the configuration.
    pub configuration: String,
    /// A figure for each of [`Measure::ALL`].
    pub figures: Vec<Estimate>,
}

/// Shares of questions that get context.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdRow {
    /// The name of the configuration.
    pub configuration: String,
    /// The name of the threshold.
    pub threshold: String,
    /// The share of the answerable questions. None if the server does not say, or there are no such questions.
    pub answerable: Option<Estimate>,
    /// The share of the unanswerable questions.
    pub unanswerable: Option<Estimate>,
}

/// Computes all figures of the questions and of what was observed.
pub fn summarise(questions: &[Question], observed: &[Observed]) -> Summary {
    let answerable = questions.iter().filter(|question| question.kind.is_answerable()).count();
    Summary {
        groups: groups(questions)
            .into_iter()
            .filter_map(|(name, members)| {
                let rows: Vec<Row> = observed.iter().filter_map(|one| row(one, questions, &members)).collect();
                (!rows.is_empty()).then_some(Group { name, questions: members.len(), rows })
            })
            .collect(),
        thresholds: observed.iter().flat_map(|one| threshold_rows(one, questions)).collect(),
        answerable,
        unanswerable: questions.len() - answerable,
    }
}

fn row(observed: &Observed, questions: &[Question], members: &[usize]) -> Option<Row> {
    let figures = Measure::ALL.iter().map(|measure| {
        let values: Vec<f64> = members
            .iter()
            .filter_map(|&member| Some(measure.of(observed.rankings.get(member)?, questions.get(member)?)))
            .collect();
        mean(&values)
    });
    Some(Row { configuration: observed.configuration.clone(), figures: figures.collect::<Option<_>>()? })
}

fn threshold_rows(observed: &Observed, questions: &[Question]) -> Vec<ThresholdRow> {
    let share_of = |context: &[bool], is_answerable: bool| {
        let asked =
            questions.iter().zip(context).filter(|(question, _)| question.kind.is_answerable() == is_answerable);
        let got: Vec<bool> = asked.map(|(_, &context)| context).collect();
        share(got.iter().filter(|&&context| context).count(), got.len())
    };
    let row = |one: &ObservedThreshold| ThresholdRow {
        configuration: observed.configuration.clone(),
        threshold: one.threshold.clone(),
        answerable: one.context.as_ref().and_then(|context| share_of(context, true)),
        unanswerable: one.context.as_ref().and_then(|context| share_of(context, false)),
    };
    observed.thresholds.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::parse;

    #[test]
    fn figures_are_computed_for_all_questions_and_for_each_group() {
        let questions = parse(
            "{\"id\":\"1\",\"kind\":\"known-item\",\"query\":\"q\",\"relevant\":[\"a\"]}\n\
             {\"id\":\"2\",\"kind\":\"paraphrase\",\"query\":\"q\",\"relevant\":[\"b\"]}\n\
             {\"id\":\"3\",\"kind\":\"unanswerable\",\"query\":\"q\"}",
        )
        .unwrap();
        let ranking = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let observed = Observed {
            configuration: "dense".to_owned(),
            rankings: vec![ranking("a x"), ranking("x b"), ranking("x")],
            thresholds: vec![
                ObservedThreshold { threshold: "fixed".to_owned(), context: Some(vec![true, false, false]) },
                ObservedThreshold { threshold: "calibrated".to_owned(), context: None },
            ],
        };
        let summary = summarise(&questions, &[observed]);
        let shown: Vec<(&str, usize, f64, f64)> = summary
            .groups
            .iter()
            .map(|group| {
                let figures = &group.rows[0].figures;
                (group.name.as_str(), group.questions, figures[0].mean, figures[3].mean)
            })
            .collect();
        // recall@1, then MRR@10.
        assert_eq!(shown, [("all", 2, 0.5, 0.75), ("known-item", 1, 1.0, 1.0), ("paraphrase", 1, 0.0, 0.5)]);
        let shares: Vec<_> = summary.thresholds.iter().map(|row| row.answerable.map(|share| share.mean)).collect();
        assert_eq!(shares, [Some(0.5), None]);
        assert_eq!(summary.thresholds[0].unanswerable.map(|share| share.mean), Some(0.0));
        assert_eq!((summary.answerable, summary.unanswerable), (2, 1));
    }
}
