//! Asks the questions in each configuration, some at once, and shows the progress.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use ragengine_evaluation::question::Question;
use ragengine_evaluation::summary::{Observed, ObservedThreshold};

use super::requests::{Reply, Requests};
use crate::args::{Eval, EvalRetrieval, EvalThreshold};

/// What the server answers in each configuration.
///
/// # Errors
///
/// When the server refuses a configuration, or does not answer.
pub(super) async fn observe(arguments: &Eval, questions: &[Question]) -> anyhow::Result<Vec<Observed>> {
    let timeout = Duration::from_secs(arguments.timeout_seconds);
    let requests = Requests::new(&arguments.server.url, &arguments.index, arguments.top_k, timeout)?;
    let runs = arguments.retrieval.len() * (1 + arguments.threshold.len());
    let bar = progress_bar((runs * questions.len()) as u64);
    let mut observed = Vec::new();
    for &retrieval in &arguments.retrieval {
        let asking = Asking { requests: &requests, questions, concurrency: arguments.concurrency, bar: &bar };
        observed.push(asking.observe(retrieval, &arguments.threshold).await?);
    }
    bar.finish_and_clear();
    Ok(observed)
}

struct Asking<'a> {
    requests: &'a Requests,
    questions: &'a [Question],
    concurrency: usize,
    bar: &'a ProgressBar,
}

impl Asking<'_> {
    async fn observe(&self, retrieval: EvalRetrieval, thresholds: &[EvalThreshold]) -> anyhow::Result<Observed> {
        let replies = self.ask_all(retrieval, None).await?;
        let mut observed = Vec::new();
        for &threshold in thresholds {
            let context = self.context(retrieval, threshold).await?;
            observed.push(ObservedThreshold { threshold: threshold.to_string(), context });
        }
        let rankings = replies.into_iter().map(|reply| reply.ranking).collect();
        Ok(Observed { configuration: retrieval.to_string(), rankings, thresholds: observed })
    }

    /// Whether each question gets context. None if the server does not know the threshold, or does not say.
    async fn context(&self, retrieval: EvalRetrieval, threshold: EvalThreshold) -> anyhow::Result<Option<Vec<bool>>> {
        // One request shows whether the others are of any use.
        let Some(first) = self.questions.first() else { return Ok(None) };
        let is_known = match self.requests.ask(&first.query, retrieval, Some(threshold)).await {
            Ok(reply) => reply.context.is_some(),
            // A server that does not know the fields refuses them as invalid.
            Err(error) if error.is_document_error() => false,
            Err(error) => return Err(error.into()),
        };
        if !is_known {
            self.bar.inc(self.questions.len() as u64);
            return Ok(None);
        }
        let replies = self.ask_all(retrieval, Some(threshold)).await?;
        Ok(replies.into_iter().map(|reply| reply.context).collect())
    }

    /// The replies, in the order of the questions.
    async fn ask_all(&self, retrieval: EvalRetrieval, threshold: Option<EvalThreshold>) -> anyhow::Result<Vec<Reply>> {
        let ask = |question: &'_ Question| {
            let query = question.query.clone();
            let id = question.id.clone();
            async move {
                let reply = self.requests.ask(&query, retrieval, threshold).await;
                self.bar.inc(1);
                reply.with_context(|| format!("question '{id}', retrieval '{retrieval}'"))
            }
        };
        stream::iter(self.questions.iter().map(ask)).buffered(self.concurrency).try_collect().await
    }
}

/// Hidden unless standard error is a terminal.
fn progress_bar(questions: u64) -> ProgressBar {
    let bar = ProgressBar::new(questions);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} requests, {elapsed} elapsed, {eta} left") {
        bar.set_style(style);
    }
    bar
}
