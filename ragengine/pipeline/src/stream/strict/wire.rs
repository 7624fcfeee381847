//! One event or one whole answer in OpenAI's format, read field by field.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::chunk::text;
use super::Unchecked;
use super::calls::CallPiece;
use super::fields::{error, finish_reason, label, number, role, typed, usage};

/// What an event of a stream is.
pub(in super::super) enum Seen {
    /// It has no data, such as a comment.
    Nothing,
    /// `[DONE]`, which ends the stream.
    Done,
    /// A part of the answer.
    Answer(Box<Event>),
}

/// An event, or a whole answer.
pub(in super::super) struct Event {
    /// The fields that all events of an answer share.
    pub head: Map<String, Value>,
    /// The parts of its choices. None if it has no list of choices, such as an error.
    pub parts: Option<Vec<Part>>,
    /// The numbers of its usage.
    pub usage: Option<Value>,
    /// Its error.
    pub error: Option<Value>,
}

/// A part of one choice, or a whole one.
pub(in super::super) struct Part {
    /// The index of the choice, from 0.
    pub choice: u64,
    /// The role of the message.
    pub role: Option<&'static str>,
    /// The text. None if there is none, or it is no string.
    pub content: Option<String>,
    /// Pieces of tool calls.
    pub calls: Vec<CallPiece>,
    /// Why the choice ended.
    pub finish_reason: Option<&'static str>,
}

impl Part {
    /// The role as the only field of a message.
    pub fn message(&self) -> Map<String, Value> {
        self.role.map(|role| ("role".to_owned(), role.into())).into_iter().collect()
    }
}

impl Seen {
    /// Reads an event of a stream.
    pub fn read(event: &[u8]) -> Result<Self, Unchecked> {
        let event = std::str::from_utf8(event).map_err(|_| Unchecked::NotText)?;
        // Clients also break lines at a carriage return.
        let mut lines = event.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data:"));
        let data = match (lines.next(), lines.next()) {
            (None, _) => return Ok(Self::Nothing),
            (Some(data), None) => data.trim(),
            (Some(_), Some(_)) => return Err(Unchecked::SeveralLines),
        };
        Ok(match data {
            "" => Self::Nothing,
            "[DONE]" => Self::Done,
            data => Self::Answer(Box::new(Event::read(data, |choice| choice.delta)?)),
        })
    }
}

impl Event {
    /// Reads a whole answer.
    pub fn whole(answer: &str) -> Result<Self, Unchecked> {
        Self::read(answer, |choice| choice.message)
    }

    fn read<'a>(data: &'a str, message: impl Fn(&WireChoice<'a>) -> Option<&'a RawValue>) -> Result<Self, Unchecked> {
        let wire: Wire<'a> = serde_json::from_str(data).map_err(|_| Unchecked::Form)?;
        let labels = [
            ("id", label(wire.id).map(Value::from)),
            ("object", label(wire.object).map(Value::from)),
            ("created", number(wire.created)),
            ("model", label(wire.model).map(Value::from)),
            ("system_fingerprint", label(wire.system_fingerprint).map(Value::from)),
            ("service_tier", label(wire.service_tier).map(Value::from)),
        ];
        let part = |choice: WireChoice<'a>| part(&choice, message(&choice));
        Ok(Self {
            head: labels.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
            parts: wire.choices.map(|choices| choices.into_iter().map(part).collect()).transpose()?,
            usage: usage(wire.usage),
            error: error(wire.error),
        })
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    created: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    system_fingerprint: Option<&'a RawValue>,
    #[serde(borrow)]
    service_tier: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<Vec<WireChoice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<WireCall<'a>>>,
    #[serde(borrow)]
    function_call: Option<WireFunction<'a>>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<WireFunction<'a>>,
}

#[derive(Default, Deserialize)]
struct WireFunction<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

fn part(choice: &WireChoice<'_>, message: Option<&RawValue>) -> Result<Part, Unchecked> {
    let message = message.map(|message| serde_json::from_str(message.get()).map_err(|_| Unchecked::Form));
    let WireMessage { role: of, content, tool_calls, function_call } = message.transpose()?.unwrap_or_default();
    let calls = tool_calls.unwrap_or_default().into_iter().map(call);
    let legacy = function_call.map(|function| function_piece(function, None, None, true));
    Ok(Part {
        choice: choice.index.unwrap_or_default(),
        role: role(of),
        content: content.map(string).transpose()?.flatten(),
        calls: calls.chain(legacy).collect::<Result<_, _>>()?,
        finish_reason: finish_reason(choice.finish_reason),
    })
}

/// A string. None for a value of another type, which no one reads as text.
fn string(value: &RawValue) -> Result<Option<String>, Unchecked> {
    let is_string = value.get().starts_with('"');
    is_string.then(|| text(value.get()).map(Into::into).map_err(|_| Unchecked::Form)).transpose()
}

fn call(WireCall { index, id, kind, function }: WireCall<'_>) -> Result<CallPiece, Unchecked> {
    // Calls of other types have their texts elsewhere.
    let is_function = kind.is_none() || typed::<String>(kind).is_some_and(|kind| ["", "function"].contains(&&*kind));
    if !is_function {
        return Err(Unchecked::Form);
    }
    function_piece(function.unwrap_or_default(), index, label(id), false)
}

fn function_piece(
    WireFunction { name, arguments }: WireFunction<'_>,
    index: Option<u64>,
    id: Option<String>,
    is_legacy: bool,
) -> Result<CallPiece, Unchecked> {
    let arguments = match arguments {
        // Some servers send an object instead of its JSON.
        Some(value) => string(value)?.unwrap_or_else(|| value.get().to_owned()),
        None => String::new(),
    };
    let name = name.map(string).transpose()?.flatten().unwrap_or_default();
    Ok(CallPiece { index, id: id.filter(|id| !id.is_empty()), name, arguments, is_legacy })
}
