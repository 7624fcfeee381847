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

/// Maximum number of instructions of one rendering. A template needs a few hundred for each message.
const MAX_INSTRUCTIONS: u64 = 1_000_000;

/// Maximum nesting depth of blocks and macros. The stack of a thread has room for more.
const MAX_DEPTH: usize = 200;

/// A compiled chat template.
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template, which may use the special tokens by name.
    ///
    /// # Errors
    ///
    /// The source is not valid Jinja.
    pub fn compile(source: &str, special_tokens: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(MAX_INSTRUCTIONS));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", functions::to_json);
        environment.add_function("raise_exception", functions::raise_exception);
        environment.add_function("strftime_now", functions::strftime_now);
        for (name, token) in special_tokens {
            environment.add_global(name.clone(), token.clone());
        }
        environment.add_template_owned(NAME, without_generation_tags(source))?;
        Ok(Self { environment })
    }

    /// Renders the prompt of a conversation, up to the beginning of the answer.
    ///
    /// # Errors
    ///
    /// The template refuses the messages or fails, or a limit is exceeded.
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

/// Replaces transformers' tag `generation`, which only marks text for training, with a block that is always printed.
fn without_generation_tags(source: &str) -> String {
    let plain = |part: &str| {
        let tag = part.split_once("%}").map_or("", |(tag, _)| tag);
        match tag.trim_matches(|c: char| c.is_whitespace() || "+-".contains(c)) {
            "generation" => part.replacen("generation", "if true", 1),
            "endgeneration" => part.replacen("endgeneration", "endif", 1),
            _ => part.to_owned(),
        }
    };
    let Some((before, tags)) = source.split_once("{%") else { return source.to_owned() };
    [before.to_owned()].into_iter().chain(tags.split("{%").map(plain)).collect::<Vec<_>>().join("{%")
}

#[cfg(test)]
mod tests;
