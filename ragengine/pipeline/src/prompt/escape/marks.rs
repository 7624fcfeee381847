//! Marks of chat templates. Some servers end a message at them, wherever they stand.

/// Marks that do not look like `<|im_end|>`.
const MARKS: [&str; 39] = [
    // Mistral and Llama 2.
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<unk>",
    // Gemma.
    "<bos>",
    "<eos>",
    "<pad>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|turn>",
    "<turn|>",
    "<|channel>",
    "<channel|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    // Qwen, DeepSeek and others that reason and call tools.
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    // GLM and InternLM.
    "[gMASK]",
    "<sop>",
    "<eop>",
    "<eoh>",
    "<eoa>",
    "<eot>",
];

/// The longest name between `<|` and `|>`, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The last byte at which a name may end: the two characters before it have at most 6 bytes.
const MAX_END: usize = 70;

/// The positions of backslashes that break marks of chat templates: after the first character of each.
pub(super) fn marks(line: &str) -> Vec<usize> {
    let begins = line.match_indices(['<', '[', '\u{ff1c}', '\u{ff3b}']);
    begins.filter(|(at, _)| is_mark(&line[*at..])).map(|(at, first)| at + first.len()).collect()
}

fn is_mark(text: &str) -> bool {
    MARKS.iter().any(|mark| starts_with(text, mark)) || is_barred(text, '<', '>') || is_barred(text, '[', ']')
}

/// Whether the text starts with a mark. Some tokenizers read full-width characters as their ASCII ones.
fn starts_with(text: &str, mark: &str) -> bool {
    let mut characters = text.chars().map(narrow);
    mark.chars().all(|expected| characters.next() == Some(expected))
}

/// Whether the text starts with a mark such as `<|im_end|>` or `[|endofturn|]`. DeepSeek's marks have full-width bars.
fn is_barred(text: &str, opening: char, closing: char) -> bool {
    let mut characters = text.char_indices().map(|(at, character)| (at, narrow(character)));
    let is_next = |next: Option<(usize, char)>, expected| next.is_some_and(|(_, character)| character == expected);
    if !is_next(characters.next(), opening) || !is_next(characters.next(), '|') {
        return false;
    }
    let mut name = characters.take_while(|(at, _)| *at <= MAX_END);
    let Some((first, _)) = name.next().filter(|(_, character)| may_be_in_name(*character)) else { return false };
    let end = name.find(|(_, character)| !may_be_in_name(*character));
    let Some((end, _)) = end.filter(|(end, character)| *character == '|' && end - first <= MAX_NAME_BYTES) else {
        return false;
    };
    text[end..].chars().nth(1).map(narrow) == Some(closing)
}

fn may_be_in_name(character: char) -> bool {
    !character.is_whitespace() && !"<>|".contains(character)
}

/// The ASCII character of a full-width one. Others are unchanged.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        other => other,
    }
}
