//! The stages that an answer passes on its way to the client: post-processing and citations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_client::wire::ExplainedStage;
use ragengine_errors::texts;
use ragengine_pipeline::answer::{CitationRules, CitationStream, Finished, Outcome};
use ragengine_pipeline::post_process::PostProcessStream;

use super::citations::cited_sources;
use super::passage::ChatPassage;
use crate::retrieval::stages::outcome;

/// The stages that are on for an answer.
#[derive(Clone, Default)]
pub(super) struct AnswerStages {
    /// Whether HTML becomes Markdown.
    pub postprocess: bool,
    /// The passages that the answer may cite. None if citations are not checked.
    pub citations: Option<Citable>,
}

/// The passages that an answer may cite, and the rules for answers that cite none.
#[derive(Clone)]
pub(super) struct Citable {
    /// The passages in the prompt, in order. The first has number 1.
    pub passages: Arc<[ChatPassage]>,
    /// The rules.
    pub rules: CitationRules,
}

/// The stages of one choice of an answer.
#[derive(Default)]
pub(super) struct ChoiceStages {
    postprocess: Option<Timed<PostProcessStream>>,
    citations: Option<Timed<CitationStream>>,
    /// The answer so far, for the log.
    answer: Option<String>,
}

/// A stage, and the time that it took so far.
struct Timed<S> {
    stage: S,
    took: Duration,
}

impl<S> Timed<S> {
    fn new(stage: S) -> Self {
        Self { stage, took: Duration::ZERO }
    }

    fn run<T>(&mut self, work: impl FnOnce(&mut S) -> T) -> T {
        let started = Instant::now();
        let done = work(&mut self.stage);
        self.took += started.elapsed();
        done
    }
}

/// What the stages did to a whole answer.
#[derive(Default)]
pub(super) struct AnswerEnd {
    /// The stages, in order.
    pub stages: Vec<ExplainedStage>,
    /// What the answer cites. None if citations are not checked.
    pub cited: Option<Finished>,
    /// The answer as the language model wrote it. Only if citations are checked and texts are logged.
    pub answer: Option<String>,
}

impl AnswerEnd {
    /// Whether another text stands for the answer.
    pub fn is_rejected(&self) -> bool {
        self.cited.as_ref().is_some_and(|cited| cited.outcome == Outcome::Rejected)
    }
}

impl AnswerStages {
    /// Whether the answer stays as it is.
    pub fn is_empty(&self) -> bool {
        !self.postprocess && self.citations.is_none()
    }

    /// Begins a choice.
    pub fn begin(&self) -> ChoiceStages {
        let citations = self.citations.as_ref().map(|Citable { passages, rules }| {
            Timed::new(CitationStream::new(&cited_sources(passages), rules.clone()))
        });
        ChoiceStages {
            answer: (citations.is_some() && texts::are_logged()).then(String::new),
            postprocess: self.postprocess.then(|| Timed::new(PostProcessStream::default())),
            citations,
        }
    }
}

impl ChoiceStages {
    /// Adds a part of the answer. Returns the text that may be sent now.
    pub fn push(&mut self, part: &str) -> String {
        self.answer.iter_mut().for_each(|answer| answer.push_str(part));
        let mut text = match &mut self.postprocess {
            Some(stage) => stage.run(|stage| stage.push(part)),
            None => part.to_owned(),
        };
        if let Some(stage) = &mut self.citations {
            text = stage.run(|stage| stage.push(&text));
        }
        text
    }

    /// Ends the answer. Returns the rest of its text.
    pub fn finish(self) -> (String, AnswerEnd) {
        let (mut text, mut stages) = (String::new(), Vec::new());
        if let Some(mut stage) = self.postprocess {
            text = stage.run(PostProcessStream::finish);
            stages.push(explained("postprocess", outcome(stage.stage.has_changed()), stage.took));
        }
        let cited = self.citations.map(|mut stage| {
            let started = Instant::now();
            let mut sent = stage.stage.push(&text);
            let (rest, finished) = stage.stage.finish();
            sent.push_str(&rest);
            text = sent;
            stages.push(ExplainedStage {
                citations: Some(finished.citations.iter().map(|source| source + 1).collect()),
                ..explained("citations", cited_outcome(finished.outcome), stage.took + started.elapsed())
            });
            finished
        });
        (text, AnswerEnd { stages, cited, answer: self.answer })
    }

    /// Processes a whole answer.
    pub fn whole(mut self, answer: &str) -> (String, AnswerEnd) {
        let mut text = self.push(answer);
        let (rest, end) = self.finish();
        text.push_str(&rest);
        (text, end)
    }
}

fn cited_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Cited => "done",
        Outcome::Rejected => "rejected",
        Outcome::Insufficient => "insufficient",
    }
}

fn explained(stage: &str, outcome: &str, took: Duration) -> ExplainedStage {
    ExplainedStage {
        stage: stage.to_owned(),
        outcome: outcome.to_owned(),
        elapsed_ms: took.as_secs_f64() * 1000.0,
        ..ExplainedStage::default()
    }
}
