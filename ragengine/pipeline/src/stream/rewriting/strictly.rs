//! Builds every event from fields that are known and texts that were checked.

use serde_json::{Value, json};

use super::super::strict::{CONTENT_FILTER, Event, HeldCalls, Part, Seen, ToolCall, Unchecked, tool_calls};
use super::{Change, Chunk, Delta, Rewriting, event, written_chunk};

impl Rewriting {
    pub(super) fn rewrite_strictly(
        &mut self,
        raw: &[u8],
        mut change: impl FnMut(&Delta) -> Change,
    ) -> Result<Vec<Chunk>, Unchecked> {
        let Event { head, parts, usage, error } = match Seen::read(raw)? {
            Seen::Nothing => return Ok(Vec::new()),
            Seen::Done => return Ok(self.end_strictly(change)),
            Seen::Answer(event) => *event,
        };
        if self.first.is_none() && parts.as_ref().is_some_and(|parts| !parts.is_empty()) {
            self.first = Some(event(&Value::Object(head.clone()).to_string()).into());
        }
        let (mut written, mut choices) = (Vec::new(), Vec::new());
        let has_choices = parts.is_some();
        for part in parts.into_iter().flatten() {
            choices.extend(self.choice(part, &mut change, &mut written)?);
        }
        if choices.is_empty() && usage.is_none() && error.is_none() {
            return Ok(written);
        }
        let mut value = head;
        if has_choices {
            value.insert("choices".to_owned(), choices.into());
        }
        let more = [("usage", usage), ("error", error)];
        value.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        written.push(written_chunk(value.into()));
        Ok(written)
    }

    /// What is sent of a part of a choice. None if nothing is. Events that come before it are added to `before`.
    fn choice(
        &mut self,
        mut part: Part,
        change: &mut impl FnMut(&Delta) -> Change,
        before: &mut Vec<Chunk>,
    ) -> Result<Option<Value>, Unchecked> {
        let Some(calls) = self.open.add(&mut part)? else { return Ok(None) };
        let mut message = part.message();
        let Part { choice, content, finish_reason, .. } = part;
        // Clients expect a first event with a role and an empty text.
        let is_first = !message.is_empty() && content.is_some();
        let text = content.unwrap_or_default();
        let Some(finish_reason) = finish_reason else {
            let delta = Delta { choice, text, finish_reason: None, has_calls: false, tool_calls: Vec::new() };
            let text = change(&delta).text;
            if is_first || !text.is_empty() {
                message.insert("content".to_owned(), text.into());
            }
            let is_empty = message.is_empty();
            return Ok((!is_empty).then(|| json!({"index": choice, "delta": message, "finish_reason": null})));
        };
        let removed = self.end_choice((choice, text, Some(finish_reason)), calls, change, before);
        let finish_reason = removed.unwrap_or(finish_reason);
        Ok(Some(json!({"index": choice, "delta": message, "finish_reason": finish_reason})))
    }

    /// Adds the rest of a choice to `before`: of its text, and its tool calls. Returns the finish reason instead of the
    /// language model's.
    fn end_choice(
        &mut self,
        (choice, text, finish_reason): (u64, String, Option<&str>),
        calls: HeldCalls,
        change: &mut impl FnMut(&Delta) -> Change,
        before: &mut Vec<Chunk>,
    ) -> Option<&'static str> {
        let (has_calls, are_whole) = (!calls.is_empty(), calls.are_whole());
        let tool_calls = calls.into_calls();
        let delta = Delta { choice, text, finish_reason: finish_reason.map(str::to_owned), has_calls, tool_calls };
        let Change { text, finish_reason, keeps_calls } = change(&delta);
        if !text.is_empty() {
            before.push(self.part(choice, &text));
        }
        if has_calls && !(are_whole && keeps_calls) {
            return finish_reason.or(Some(CONTENT_FILTER));
        }
        if has_calls {
            before.push(self.calls_part(choice, delta.tool_calls));
        }
        finish_reason
    }

    /// `[DONE]`, after the tool calls of choices that have no finish reason.
    fn end_strictly(&mut self, mut change: impl FnMut(&Delta) -> Change) -> Vec<Chunk> {
        let mut written = Vec::new();
        for (choice, calls) in self.open.take_calls() {
            if let Some(reason) = self.end_choice((choice, String::new(), None), calls, &mut change, &mut written) {
                written.push(self.last(choice, reason));
            }
        }
        written.push(Chunk::read(event("[DONE]").into()));
        written
    }

    /// An event with the tool calls of a choice.
    fn calls_part(&self, choice: u64, calls: Vec<ToolCall>) -> Chunk {
        let delta = tool_calls(calls, true);
        self.with_choices(json!([{"index": choice, "delta": delta, "finish_reason": null}]))
    }
}

#[cfg(test)]
mod tests;
