//! Decides whether a request is answered from an index, and which messages are the question.

use crate::Rejection;
use crate::conversation::{Content, Message, Role};
use crate::request::Request;

/// How a request is processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// The request goes to the language model without retrieval.
    PassThrough(Bypass),
    /// The request is answered from its index.
    Retrieve(Turn),
}

/// The reason to pass a request through without retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// The request names no index.
    NoIndex,
    /// The request has tools or functions.
    Tools,
    /// A message has a role other than user, assistant, system or developer.
    Role,
    /// A user, system or developer message has a part that is not text.
    Content,
}

impl Bypass {
    /// The value of this reason in the log and as a metric label.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoIndex => "no_index",
            Self::Tools => "tools",
            Self::Role => "role",
            Self::Content => "content",
        }
    }
}

/// The conversation, split at the latest assistant message. Numbers are positions in the request's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The text to search for: the user messages since the latest assistant message, joined by empty lines.
    pub user_prompt: String,
    /// The messages of the user prompt.
    pub prompt_messages: Vec<usize>,
    /// All other messages.
    pub history: Vec<usize>,
}

/// Decides how a request is processed. The caller has checked that the index exists.
///
/// # Errors
///
/// [`Rejection::SeveralChoices`], [`Rejection::EmptyUserContent`] or [`Rejection::NoUserPrompt`], when the request is
/// not passed through.
pub fn plan(request: &Request) -> Result<Plan, Rejection> {
    if let Some(bypass) = bypass(request) {
        return Ok(Plan::PassThrough(bypass));
    }
    if request.choices > 1 {
        return Err(Rejection::SeveralChoices);
    }
    split(request).map(Plan::Retrieve)
}

/// The reason to pass this request through, if there is one.
pub(crate) fn bypass(request: &Request) -> Option<Bypass> {
    let any = |holds: fn(&Message) -> bool| request.conversation.messages.iter().any(holds);
    match request {
        Request { index_name: None, .. } => Some(Bypass::NoIndex),
        Request { uses_index_with_tools: false, tools, .. } if !tools.is_empty() => Some(Bypass::Tools),
        _ if any(|message| message.role == Role::Other) => Some(Bypass::Role),
        // The prompt has the texts of these messages, so another part would be lost.
        _ if any(|message| matches!(message.role, Role::User | Role::System) && message.content == Content::Other) => {
            Some(Bypass::Content)
        }
        _ => None,
    }
}

fn split(request: &Request) -> Result<Turn, Rejection> {
    let messages = &request.conversation.messages;
    let is_empty_user = |message: &Message| message.role == Role::User && message.content == Content::Empty;
    if let Some(position) = messages.iter().position(is_empty_user) {
        return Err(Rejection::EmptyUserContent(position));
    }
    let answered = messages.iter().rposition(|message| message.role == Role::Assistant).unwrap_or_default();
    let (prompt_messages, history): (Vec<usize>, Vec<usize>) =
        (0..messages.len()).partition(|&position| position >= answered && messages[position].role == Role::User);
    let user_prompt =
        prompt_messages.iter().map(|&position| request.conversation.text(position)).collect::<Vec<_>>().join("\n\n");
    if user_prompt.trim().is_empty() {
        return Err(Rejection::NoUserPrompt);
    }
    Ok(Turn { user_prompt, prompt_messages, history })
}

#[cfg(test)]
mod tests;
