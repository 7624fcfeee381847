//! Whether a request is answered from an index, and what of the conversation is the question.

use crate::Rejection;
use crate::conversation::{Content, Message, Role};
use crate::request::Request;

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// It goes to the language model as it is.
    PassThrough(Bypass),
    /// It is answered from the index.
    Retrieve(Turn),
}

/// Why a request is passed through before anything is retrieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// It names no index.
    NoIndex,
    /// It has tools or functions.
    Tools,
    /// A message has a role other than user, assistant, system or developer.
    Role,
    /// A user message has a part that is not text.
    Content,
}

impl Bypass {
    /// The label of this reason.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoIndex => "no_index",
            Self::Tools => "tools",
            Self::Role => "role",
            Self::Content => "content",
        }
    }
}

/// The conversation, split at the latest answer. Numbers are positions in the request's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What is looked for: the user messages since the latest assistant message, joined by an empty line.
    pub user_prompt: String,
    /// The messages that make up the user prompt.
    pub prompt_messages: Vec<usize>,
    /// All other messages.
    pub history: Vec<usize>,
}

/// Decides what happens to a request. That its index exists has been checked by then.
///
/// # Errors
///
/// [`Rejection::SeveralChoices`], [`Rejection::EmptyUserContent`] or [`Rejection::NoUserPrompt`], for requests that would be
/// answered from the index.
pub fn plan(request: &Request) -> Result<Plan, Rejection> {
    if let Some(bypass) = bypass(request) {
        return Ok(Plan::PassThrough(bypass));
    }
    if request.choices > 1 {
        return Err(Rejection::SeveralChoices);
    }
    split(request).map(Plan::Retrieve)
}

/// Why a request is passed through, if it is.
pub(crate) fn bypass(request: &Request) -> Option<Bypass> {
    let any = |holds: fn(&Message) -> bool| request.conversation.messages.iter().any(holds);
    match request {
        Request { index_name: None, .. } => Some(Bypass::NoIndex),
        Request { has_tools: true, .. } => Some(Bypass::Tools),
        _ if any(|message| message.role == Role::Other) => Some(Bypass::Role),
        _ if any(|message| message.role == Role::User && message.content == Content::Other) => Some(Bypass::Content),
        _ => None,
    }
}

fn split(request: &Request) -> Result<Turn, Rejection> {
    let messages = &request.conversation.messages;
    let is_empty_user = |message: &Message| message.role == Role::User && message.content == Content::Empty;
    if let Some(position) = messages.iter().position(is_empty_user) {
        return Err(Rejection::EmptyUserContent(position));
    }
    let answered = messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |last| last + 1);
    let (prompt_messages, history): (Vec<usize>, Vec<usize>) =
        (0..messages.len()).partition(|&position| position >= answered && messages[position].role == Role::User);
    let user_prompt =
        prompt_messages.iter().map(|&position| request.conversation.said(position)).collect::<Vec<_>>().join("\n\n");
    if user_prompt.trim().is_empty() {
        return Err(Rejection::NoUserPrompt);
    }
    Ok(Turn { user_prompt, prompt_messages, history })
}

#[cfg(test)]
mod tests;
