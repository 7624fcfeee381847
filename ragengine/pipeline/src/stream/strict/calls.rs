//! Tool calls, which arrive in pieces and are checked as wholes.

use serde_json::{Map, Value, json};

use super::MAX_HELD_CALL_BYTES;

/// The most tool calls of a choice, as many as OpenAI takes tools.
const MAX_CALLS: usize = 128;

/// A call of a tool, or of a function in OpenAI's older format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The index of the call in its choice. None for the older format, which has one call without an index.
    pub index: Option<u64>,
    /// The id, which the reply of the tool repeats.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as the language model wrote them. It should be JSON.
    pub arguments: String,
}

impl ToolCall {
    fn bytes(&self) -> usize {
        self.id.as_ref().map_or(0, String::len) + self.name.len() + self.arguments.len()
    }

    fn function(self) -> Value {
        json!({"name": self.name, "arguments": self.arguments})
    }
}

/// A piece of a tool call.
pub(in super::super) struct CallPiece {
    /// The index of the call. Some servers send none.
    pub index: Option<u64>,
    /// The id. None if it is empty.
    pub id: Option<String>,
    /// A part of the name.
    pub name: String,
    /// A part of the arguments.
    pub arguments: String,
    /// Whether it has OpenAI's older format.
    pub is_legacy: bool,
}

/// The tool calls of a choice so far.
#[derive(Debug, Default)]
pub(in super::super) struct HeldCalls {
    calls: Vec<ToolCall>,
    /// Whether they got too many or too long. Then none is kept.
    are_too_long: bool,
}

impl HeldCalls {
    /// Adds a piece. `held_bytes` counts the bytes that all choices hold.
    pub fn add(&mut self, piece: CallPiece, held_bytes: &mut usize) {
        if self.are_too_long {
            return;
        }
        let index = self.index_of(&piece);
        let place = self.calls.iter().position(|call| call.index == index).unwrap_or_else(|| {
            self.calls.push(ToolCall { index, ..ToolCall::default() });
            self.calls.len() - 1
        });
        if let Some(call) = self.calls.get_mut(place) {
            let before = call.bytes();
            call.id = call.id.take().or(piece.id);
            // Some servers repeat the name with every piece.
            if call.name != piece.name {
                call.name.push_str(&piece.name);
            }
            call.arguments.push_str(&piece.arguments);
            *held_bytes += call.bytes() - before;
        }
        if *held_bytes > MAX_HELD_CALL_BYTES || self.calls.len() > MAX_CALLS {
            self.drop_all(held_bytes);
        }
    }

    /// The index of the call that a piece belongs to. Without an index, an id begins a new call.
    fn index_of(&self, piece: &CallPiece) -> Option<u64> {
        if piece.is_legacy {
            return None;
        }
        let last = self.calls.iter().filter_map(|call| call.index).max();
        Some(piece.index.unwrap_or(match last {
            Some(last) if piece.id.is_some() => last.saturating_add(1),
            last => last.unwrap_or_default(),
        }))
    }

    fn drop_all(&mut self, held_bytes: &mut usize) {
        *held_bytes = held_bytes.saturating_sub(self.bytes());
        *self = Self { calls: Vec::new(), are_too_long: true };
    }

    /// The bytes of the calls.
    pub fn bytes(&self) -> usize {
        self.calls.iter().map(ToolCall::bytes).sum()
    }

    /// Whether there was no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && !self.are_too_long
    }

    /// Whether all calls are held. If not, there were too many, and none may be sent.
    pub fn are_whole(&self) -> bool {
        !self.are_too_long
    }

    /// The calls.
    pub fn into_calls(self) -> Vec<ToolCall> {
        self.calls
    }
}

/// The fields of a message with these calls.
pub(in super::super) fn tool_calls(calls: Vec<ToolCall>, has_index: bool) -> Map<String, Value> {
    let (new, legacy): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.index.is_some());
    let written = |mut call: ToolCall| {
        let mut fields = Map::new();
        if let (true, Some(index)) = (has_index, call.index) {
            fields.insert("index".to_owned(), index.into());
        }
        fields.extend(call.id.take().map(|id| ("id".to_owned(), id.into())));
        fields.insert("type".to_owned(), "function".into());
        fields.insert("function".to_owned(), call.function());
        Value::Object(fields)
    };
    let new: Vec<Value> = new.into_iter().map(written).collect();
    let mut fields = Map::new();
    if !new.is_empty() {
        fields.insert("tool_calls".to_owned(), new.into());
    }
    fields.extend(legacy.into_iter().next().map(|call| ("function_call".to_owned(), call.function())));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(index: u64, arguments: &str) -> CallPiece {
        let arguments = arguments.to_owned();
        CallPiece {
            index: Some(index),
            id: Some("call".to_owned()),
            name: "tool".to_owned(),
            arguments,
            is_legacy: false,
        }
    }

    #[test]
    fn all_texts_of_a_call_are_held() {
        let (mut calls, mut held_bytes) = (HeldCalls::default(), 7);
        calls.add(piece(0, "{}"), &mut held_bytes);
        assert_eq!((calls.bytes(), held_bytes), ("calltool{}".len(), 7 + "calltool{}".len()));
        // The id and the name are repeated.
        calls.add(piece(0, "[]"), &mut held_bytes);
        assert_eq!((calls.bytes(), held_bytes), ("calltool{}[]".len(), 7 + "calltool{}[]".len()));
    }

    #[test]
    fn calls_that_get_too_many_or_too_long_are_dropped() {
        let bytes = "calltool".len();
        for (calls, arguments, are_whole) in [
            (1, MAX_HELD_CALL_BYTES - bytes, true),
            (1, MAX_HELD_CALL_BYTES - bytes + 1, false),
            (1, MAX_HELD_CALL_BYTES, false),
            (2, MAX_HELD_CALL_BYTES / 2 - bytes, true),
            (2, MAX_HELD_CALL_BYTES / 2 - bytes + 1, false),
            (MAX_CALLS, 0, true),
            (MAX_CALLS + 1, 0, false),
            (MAX_CALLS + 2, 0, false),
        ] {
            let (mut held, mut held_bytes) = (HeldCalls::default(), 0);
            for index in (0..).take(calls) {
                held.add(piece(index, &"x".repeat(arguments)), &mut held_bytes);
            }
            let expected = if are_whole { calls * (bytes + arguments) } else { 0 };
            assert_eq!(
                (held.are_whole(), held.bytes(), held_bytes),
                (are_whole, expected, expected),
                "{calls} {arguments}"
            );
            assert!(!held.is_empty());
        }
        assert!(HeldCalls::default().is_empty());
    }
}
