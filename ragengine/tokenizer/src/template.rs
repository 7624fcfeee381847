//! Chat templates: Jinja as transformers runs it (`render_jinja_template` in its `chat_template_utils.py`).

mod functions;
mod messages;
mod output;
mod strftime;

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use output::BoundedOutput;

const NAME: &str = "chat template";

/// Instructions of one rendering. A template takes some hundred for a message.
const MAX_INSTRUCTIONS: u64 = 1_000_000;

/// How deep blocks and macros may be inside of one another. The stack of a thread has room for more than this.
const MAX_DEPTH: usize = 200;

/// A compiled chat template.
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template that may use the special tokens by their names.
    ///
    /// # Errors
    ///
    /// It is not Jinja.
    pub fn compile(source: &str, special_tokens: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(MAX_INSTRUCTIONS));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.set_formatter(functions::format_as_python);
        environment.add_filter("tojson", functions::to_json);
        environment.add_function("raise_exception", functions::raise_exception);
        environment.add_function("strftime_now", functions::strftime_now);
        for (name, token) in special_tokens {
            environment.add_global(name.clone(), token.clone());
        }
        environment.add_template_owned(NAME, without_generation_tags(source))?;
        Ok(Self { environment })
    }

    /// The prompt of a conversation, up to where the answer begins.
    ///
    /// # Errors
    ///
    /// The template refuses the messages, or fails on them, or a limit was reached.
    pub fn render(&self, messages: &[serde_json::Value]) -> Result<String, Error> {
        let messages = messages::as_served(messages);
        let mut output = BoundedOutput::for_messages(&messages);
        let context = context! {
            messages => Serde(&messages),
            add_generation_prompt => true,
            tools => Value::from(()),
            documents => Value::from(()),
        };
        self.environment.get_template(NAME)?.render_captured_to(context, &mut output)?;
        Ok(output.into_text())
    }
}

/// The source with transformers' own tag `generation` made a block that is always printed. It marks what training
/// learns from, and does nothing else.
fn without_generation_tags(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, tag, after)) = next_tag(rest) {
        plain.push_str(before);
        match tag.trim_start_matches("{%").trim_matches(|c: char| c.is_whitespace() || "+-".contains(c)) {
            "generation" => plain.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => plain.push_str(&tag.replace("endgeneration", "endif")),
            _ => plain.push_str(tag),
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// What is before the next tag, the tag without its end, and what follows.
fn next_tag(source: &str) -> Option<(&str, &str, &str)> {
    let (before, from_tag) = source.split_at(source.find("{%")?);
    let (tag, after) = from_tag.split_at(from_tag.find("%}")?);
    Some((before, tag, after))
}

#[cfg(test)]
mod tests;
