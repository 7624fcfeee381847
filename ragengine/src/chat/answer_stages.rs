//! The stages that an answer passes on its way to the client: post-processing, citations, and guardrails, which see what
//! leaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_client::wire::ExplainedStage;
use ragengine_errors::texts;
use ragengine_guardrails::{Call, GuardStream, Outcome as Checked, Policy};
use ragengine_pipeline::answer::{CitationRules, CitationStream, Finished, Outcome, cited_sentences};
use ragengine_pipeline::post_process::PostProcessStream;
use ragengine_pipeline::stream::ToolCall;

use super::citations::cited_sources;
use super::passage::ChatPassage;
use crate::retrieval::stages::{outcome, passed};

/// The finish reason of an answer that the guardrails blocked, as OpenAI has it.
const CONTENT_FILTER: &str = "content_filter";

/// The stages that are on for an answer.
#[derive(Clone, Default)]
pub(super) struct AnswerStages {
    /// Whether HTML becomes Markdown.
    pub postprocess: bool,
    /// The passages that the answer may cite. None if citations are not checked.
    pub citations: Option<Citable>,
    /// The policy that the answer must hold. None if answers are not checked.
    pub guardrails: Option<Arc<Policy>>,
}

/// The passages that an answer may cite, and the rules for answers that cite none.
#[derive(Clone)]
pub(super) struct Citable {
    /// The passages in the prompt, in order. The first has number 1.
    pub passages: Arc<[ChatPassage]>,
    /// The rules.
    pub rules: CitationRules,
}

/// A passage that an answer cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CitedPassage {
    /// Its number in the answer, from 1.
    pub number: usize,
    /// Its position among the passages of the prompt, from 0.
    pub position: usize,
}

/// The stages of one choice of an answer.
#[derive(Default)]
pub(super) struct ChoiceStages {
    postprocess: Option<Timed<PostProcessStream>>,
    citations: Option<Timed<CitationStream>>,
    guardrails: Option<Timed<GuardStream>>,
    /// The answer so far, for the log.
    answer: Option<String>,
    /// Whether the answer has any words so far.
    has_words: bool,
    /// Whether the answer has called a tool so far.
    has_calls: bool,
}

/// The finish reasons of a choice that only calls tools. One that has to call a certain tool ends with `stop`.
const CALLS: [&str; 2] = ["tool_calls", "function_call"];

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
    /// What the guardrails made of it. None if it is not checked.
    pub checked: Option<Checked>,
    /// The answer as the language model wrote it. Only if citations are checked and texts are logged.
    pub answer: Option<String>,
}

impl AnswerEnd {
    /// Whether another text stands for the answer.
    pub fn is_rejected(&self) -> bool {
        self.cited.as_ref().is_some_and(|cited| cited.outcome == Outcome::Rejected)
    }

    /// Whether the answer may be given again: it was not rejected, says what was asked, and was not redacted.
    pub fn is_good(&self) -> bool {
        self.cited.as_ref().is_none_or(|cited| cited.outcome == Outcome::Cited)
            && self.checked.is_none_or(|checked| checked == Checked::Passed)
    }

    /// Whether the guardrails blocked the answer.
    pub fn is_blocked(&self) -> bool {
        self.checked == Some(Checked::Blocked)
    }

    /// What the answer cites, of which this is the text after all stages. What the guardrails took out cites nothing.
    /// None if citations are not checked.
    pub fn shown_citations(&self, text: &str) -> Option<Vec<CitedPassage>> {
        let positions = &self.cited.as_ref()?.citations;
        let numbered = (1..).zip(positions).map(|(number, position)| CitedPassage { number, position: *position });
        Some(match self.checked {
            None | Some(Checked::Passed) => numbered.collect(),
            Some(Checked::Blocked) => Vec::new(),
            Some(Checked::Redacted) => {
                let left = cited_sentences(text, positions.len());
                numbered.zip(left).filter(|(_, sentences)| !sentences.is_empty()).map(|(cited, _)| cited).collect()
            }
        })
    }

    /// The finish reason instead of the language model's.
    pub fn finish_reason(&self) -> Option<&'static str> {
        self.is_blocked().then_some(CONTENT_FILTER)
    }
}

impl AnswerStages {
    /// Whether the answer stays as it is.
    pub fn is_empty(&self) -> bool {
        !self.postprocess && self.citations.is_none() && self.guardrails.is_none()
    }

    /// Whether only text that has passed the stages may be sent.
    pub fn is_strict(&self) -> bool {
        self.guardrails.is_some()
    }

    /// Begins a choice.
    pub fn begin(&self) -> ChoiceStages {
        let citations = self.citations.as_ref().map(|Citable { passages, rules }| {
            Timed::new(CitationStream::new(&cited_sources(passages), rules.clone()))
        });
        ChoiceStages {
            answer: (citations.is_some() && texts::are_logged()).then(String::new),
            has_words: false,
            has_calls: false,
            postprocess: self.postprocess.then(|| Timed::new(PostProcessStream::default())),
            citations,
            guardrails: self.guardrails.as_ref().map(|policy| Timed::new(policy.stream())),
        }
    }
}

impl ChoiceStages {
    /// Whether the guardrails have blocked the answer. No more text comes then.
    pub fn is_blocked(&self) -> bool {
        self.guardrails.as_ref().is_some_and(|guard| guard.stage.outcome() == Checked::Blocked)
    }

    /// Adds a part of the answer. Returns the text that may be sent now.
    pub fn push(&mut self, part: &str) -> String {
        self.answer.iter_mut().for_each(|answer| answer.push_str(part));
        self.has_words = self.has_words || !part.trim().is_empty();
        let mut text = match &mut self.postprocess {
            Some(stage) => stage.run(|stage| stage.push(part)),
            None => part.to_owned(),
        };
        if let Some(stage) = &mut self.citations {
            text = stage.run(|stage| stage.push(&text));
        }
        if let Some(stage) = &mut self.guardrails {
            text = stage.run(|stage| stage.push(&text));
        }
        text
    }

    /// Tells whether a part of the answer has a tool call.
    pub fn hear_calls(&mut self, has_calls: bool) {
        self.has_calls |= has_calls;
    }

    /// Whether these tool calls may be sent. If not, the guardrails have blocked the answer.
    pub fn permit_calls(&mut self, calls: &[ToolCall]) -> bool {
        let Some(guard) = &mut self.guardrails else { return true };
        calls.iter().all(|call| {
            let id = call.id.as_deref().unwrap_or_default();
            let call = Call { id, name: &call.name, arguments: &call.arguments };
            guard.run(|guard| guard.permits_call(&call))
        })
    }

    /// Ends the answer. Returns the rest of its text. A choice that only calls tools is no answer yet, so it need not
    /// cite anything.
    pub fn finish(self, finish_reason: Option<&str>) -> (String, AnswerEnd) {
        let (mut text, mut stages) = (String::new(), Vec::new());
        let only_calls = self.has_calls || finish_reason.is_some_and(|reason| CALLS.contains(&reason));
        let is_answer = self.has_words || !only_calls;
        if let Some(mut stage) = self.postprocess {
            text = stage.run(PostProcessStream::finish);
            stages.push(passed("postprocess", outcome(stage.stage.has_changed()), stage.took));
        }
        let cited = self.citations.filter(|_| is_answer).map(|mut stage| {
            let started = Instant::now();
            let mut sent = stage.stage.push(&text);
            let (rest, finished) = stage.stage.finish();
            sent.push_str(&rest);
            text = sent;
            stages.push(ExplainedStage {
                citations: Some(finished.citations.iter().map(|source| source + 1).collect()),
                ..passed("citations", cited_outcome(finished.outcome), stage.took + started.elapsed())
            });
            finished
        });
        let checked = self.guardrails.map(|mut stage| {
            text = stage.run(|stage| stage.push(&text) + &stage.finish());
            let checked = stage.stage.outcome();
            stages.push(passed("guardrails", checked_outcome(checked), stage.took));
            checked
        });
        (text, AnswerEnd { stages, cited, checked, answer: self.answer })
    }

    /// Processes a whole answer.
    pub fn whole(mut self, answer: &str, finish_reason: Option<&str>) -> (String, AnswerEnd) {
        let mut text = self.push(answer);
        let (rest, end) = self.finish(finish_reason);
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

fn checked_outcome(checked: Checked) -> &'static str {
    match checked {
        Checked::Passed => "unchanged",
        Checked::Redacted => "redacted",
        Checked::Blocked => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_that_only_calls_tools_need_not_cite_anything() {
        let citations = Some(Citable { passages: Vec::<ChatPassage>::new().into(), rules: CitationRules::default() });
        let stages = AnswerStages { citations, ..AnswerStages::default() };
        let fallback = CitationRules::default().fallback;
        for (text, has_calls, finish_reason, is_answer) in [
            ("", true, Some("stop"), false),
            ("\n", true, Some("length"), false),
            // A stream may end without a finish reason.
            ("", true, None, false),
            ("", false, Some("tool_calls"), false),
            ("", false, Some("stop"), true),
            ("", false, None, true),
            ("In May.", true, Some("stop"), true),
            ("In May.", true, Some("tool_calls"), true),
        ] {
            let mut choice = stages.begin();
            choice.hear_calls(has_calls);
            // Another part of the choice has none.
            choice.hear_calls(false);
            let (given, end) = choice.whole(text, finish_reason);
            let expected = if is_answer { fallback.as_str() } else { "" };
            assert_eq!((&*given, end.cited.is_some()), (expected, is_answer), "{text:?} {has_calls} {finish_reason:?}");
        }
    }

    #[test]
    fn citations_that_the_guardrails_took_out_are_not_shown() {
        let text = "Returns are due in May [1]. A late return costs 25 euros [2].";
        let cut = "Returns are due in May [1].";
        for (checked, text, shown) in [
            (None, text, &[(1, 4), (2, 0)][..]),
            // A text that was not changed is not read again.
            (Some(Checked::Passed), cut, &[(1, 4), (2, 0)]),
            (Some(Checked::Redacted), text, &[(1, 4), (2, 0)]),
            (Some(Checked::Redacted), cut, &[(1, 4)]),
            (Some(Checked::Redacted), "[REDACTED] A late return costs 25 euros [2].", &[(2, 0)]),
            (Some(Checked::Redacted), "[REDACTED]", &[]),
            (Some(Checked::Blocked), text, &[]),
        ] {
            let cited = Some(Finished { citations: vec![4, 0], outcome: Outcome::Cited });
            let end = AnswerEnd { cited, checked, ..AnswerEnd::default() };
            let cited = end.shown_citations(text).unwrap();
            let cited: Vec<_> = cited.into_iter().map(|cited| (cited.number, cited.position)).collect();
            assert_eq!(cited, shown, "{checked:?} {text}");
        }
        assert_eq!(AnswerEnd::default().shown_citations(text), None);
    }
}
