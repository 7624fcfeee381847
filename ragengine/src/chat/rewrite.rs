//! Rewrites the question of a chat with the language model, for the search only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_client::wire::ExplainedStage;
use ragengine_errors::{Class, Fault as _, Logged, texts};
use ragengine_guardrails::{Outcome, Policy};
use ragengine_pipeline::conversation::Role;
use ragengine_pipeline::follow_up::{
    MAX_MESSAGES, MAX_QUESTION_CHARS, Said, condense, is_follow_up, question_in, reformulate,
};
use ragengine_pipeline::request::Condensing;
use ragengine_pipeline::side_prompt::SidePrompt;
use ragengine_traces::in_span;
use tokio::time::timeout;
use tracing::{info, warn};

use super::question::Asked;
use super::search::Embedded;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::{LlmError, SideTasks};
use crate::retrieval::stages::{StagesOn, ended, outcome};

/// The most tokens of a reply: those of a long question.
const MAX_TOKENS: u32 = 512;

/// What the stage did.
#[derive(Default)]
pub(super) struct Rewritten {
    /// The new question. None: the question stays as it was written.
    pub question: Option<String>,
    /// The question that needs no history. None if there is no history, or the question was not rewritten with it.
    pub condensed: Option<String>,
    /// What the stage did. None if it is off.
    pub stage: Option<ExplainedStage>,
    /// The question, if it was embedded already.
    pub embedded: Option<Embedded>,
}

/// Rewrites the question if the stage is on. If that fails, the question stays.
///
/// # Errors
///
/// When the server is shutting down.
pub(super) async fn rewrite(
    app: &App,
    asked: &Arc<Asked>,
    on: StagesOn,
    side_tasks: &SideTasks,
) -> Result<Rewritten, ApiError> {
    if !on.rewrites() || !side_tasks.are_possible() {
        return Ok(Rewritten::default());
    }
    in_span("rewrite", rewritten(app, asked, on, side_tasks)).await
}

async fn rewritten(app: &App, asked: &Arc<Asked>, on: StagesOn, side_tasks: &SideTasks) -> Result<Rewritten, ApiError> {
    let started = Instant::now();
    let Some(task) = task(asked, on).await? else {
        let stage = Some(ended("rewrite", outcome(false), started));
        return Ok(Rewritten { stage, ..Rewritten::default() });
    };
    let original = &asked.turn.user_prompt;
    let (reply, outcome) = match reply(app, side_tasks, &task, asked.policy.as_deref()).await {
        Ok(question) => {
            let has_changed = question != original.trim();
            if has_changed {
                task.log(original, &question);
            }
            (Some(question), outcome(has_changed))
        }
        Err(error) => {
            let (request_id, kind) = (side_tasks.request_id(), error.kind());
            let (endpoint, error_words) = (asked.way.endpoint.label(), error.for_log());
            warn!(
                request_id,
                endpoint,
                kind,
                error = error_words,
                "question not rewritten: it is searched for as it is"
            );
            (None, error.outcome())
        }
    };
    let condensed = reply.clone().filter(|_| matches!(task, Task::Condense(_)));
    let question = reply.filter(|question| question != original.trim());
    let stage = ExplainedStage { question: question.clone(), ..ended("rewrite", outcome, started) };
    Ok(Rewritten { question, condensed, stage: Some(stage), embedded: None })
}

/// What the language model is asked for.
enum Task {
    /// The question in a form that needs no history.
    Condense(SidePrompt),
    /// The question in a better form.
    Reformulate(SidePrompt),
}

impl Task {
    fn prompt(&self) -> &SidePrompt {
        match self {
            Self::Condense(prompt) | Self::Reformulate(prompt) => prompt,
        }
    }

    /// Logs the questions, if texts are logged.
    fn log(&self, original: &str, question: &str) {
        if !texts::are_logged() {
            return;
        }
        match self {
            Self::Condense(_) => info!("[condense_plus_context] Condensed question: {question}"),
            Self::Reformulate(_) => info!("Query reformulated: {original} → {question}"),
        }
    }
}

/// What to ask for. None if the question stays. Long messages take a while to read, so this may use another thread.
async fn task(asked: &Arc<Asked>, on: StagesOn) -> Result<Option<Task>, ApiError> {
    if asked.turn.user_prompt.chars().nth(MAX_QUESTION_CHARS).is_some() {
        return Ok(None);
    }
    let (bytes, asked) = (asked.request.conversation.bytes(), Arc::clone(asked));
    ragengine_compute::run(bytes, move |_| Ok::<_, ApiError>(task_of(&asked, on))).await
}

fn task_of(asked: &Asked, on: StagesOn) -> Option<Task> {
    let question = &asked.turn.user_prompt;
    let history = if on.condense == Condensing::Never { Vec::new() } else { newest_messages(asked) };
    let is_condensed = match on.condense {
        Condensing::Never => false,
        Condensing::FollowUp => is_follow_up(question, !history.is_empty()),
        Condensing::Always => !history.is_empty(),
    };
    if is_condensed {
        let history: Vec<Said<'_>> = history.iter().map(said).collect();
        return Some(Task::Condense(condense(&history, question)));
    }
    on.reformulate.then(|| Task::Reformulate(reformulate(question)))
}

fn said((role, text): &(Role, String)) -> Said<'_> {
    match role {
        Role::Assistant => Said::Assistant(text),
        Role::User | Role::System | Role::Other => Said::User(text),
    }
}

/// The newest messages of the user and the assistant before the question, oldest first.
fn newest_messages(asked: &Asked) -> Vec<(Role, String)> {
    let conversation = &asked.request.conversation;
    let message = |position: &usize| {
        let role = conversation.messages.get(*position)?.role;
        let text = conversation.text(*position);
        (matches!(role, Role::User | Role::Assistant) && !text.trim().is_empty()).then_some((role, text))
    };
    let mut newest: Vec<_> = asked.turn.history.iter().rev().filter_map(message).take(MAX_MESSAGES).collect();
    newest.reverse();
    newest
}

/// The question in the reply of the language model.
async fn reply(
    app: &App,
    side_tasks: &SideTasks,
    task: &Task,
    policy: Option<&Policy>,
) -> Result<String, RewriteError> {
    let limit = app.stage_timeouts.rewrite;
    let asking = side_tasks.ask(app.settings.rewrite.model.as_deref(), task.prompt(), MAX_TOKENS);
    let reply = timeout(limit, asking).await.map_err(|_| RewriteError::Late(limit))??;
    let question = question_in(&reply).ok_or(RewriteError::Nonsense)?;
    // Replies show it.
    let is_shown = policy.is_none_or(|policy| policy.check(&question).outcome == Outcome::Passed);
    if is_shown { Ok(question) } else { Err(RewriteError::Forbidden) }
}

/// Why a question was not rewritten.
#[derive(Debug, thiserror::Error)]
enum RewriteError {
    /// The language model failed.
    #[error(transparent)]
    LanguageModel(#[from] LlmError),
    /// It took too long.
    #[error("the language model did not rewrite the question within {} s", .0.as_secs_f32())]
    Late(Duration),
    /// The reply cannot be used.
    #[error("the reply of the language model has no question, or is too long")]
    Nonsense,
    /// The policy for answers does not let it pass.
    #[error("the question of the language model does not pass the guardrails")]
    Forbidden,
}

impl RewriteError {
    fn kind(&self) -> &'static str {
        match self {
            Self::LanguageModel(error) => error.kind(),
            Self::Late(_) => "timeout",
            Self::Nonsense => "nonsense",
            Self::Forbidden => "guardrails",
        }
    }

    fn outcome(&self) -> &'static str {
        match self {
            Self::Late(_) => "timeout",
            Self::LanguageModel(error) if error.class() == Class::Late => "timeout",
            Self::LanguageModel(_) | Self::Nonsense | Self::Forbidden => "failed",
        }
    }
}

impl Logged for RewriteError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::LanguageModel(error) => error.own_words(),
            Self::Late(_) | Self::Nonsense | Self::Forbidden => Some(self.to_string()),
        }
    }
}
