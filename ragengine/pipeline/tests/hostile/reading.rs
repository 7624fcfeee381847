//! What a language model or its server may read in a prompt. Shares no code with the escaping.

/// Tokens by which the chat templates of model families end a message or begin another.
const TEMPLATE_MARKS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<|start|>",
    "<|message|>",
    "<|channel|>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "<bos>",
    "<eos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|turn>",
    "<turn|>",
    "<|channel>",
    "<channel|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "[gMASK]",
    "<sop>",
    "<eop>",
    "[|system|]",
    "[|endofturn|]",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜end▁of▁sentence｜>",
    "<｜begin▁of▁sentence｜>",
];

/// The marks of chat templates in a text. Full-width characters are read as their ASCII ones, too.
pub fn template_marks(text: &str) -> Vec<&'static str> {
    let is_full_width = |character: char| ('\u{ff01}'..='\u{ff5e}').contains(&character);
    let narrow = |character: char| if is_full_width(character) { ascii(character) } else { character };
    let narrowed: String = text.chars().map(narrow).collect();
    TEMPLATE_MARKS.iter().copied().filter(|mark| text.contains(mark) || narrowed.contains(mark)).collect()
}

fn ascii(full_width: char) -> char {
    char::from_u32(u32::from(full_width) - 0xff01 + 0x21).unwrap()
}

/// The numbers in brackets without a backslash before them, with any kind of brackets and digits.
pub fn heads(text: &str) -> Vec<String> {
    let is_drawn_onto =
        |character: &char| matches!(character, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe0f}');
    let signs: Vec<char> = text.chars().filter(|character| !is_drawn_onto(character)).collect();
    let mut found = Vec::new();
    for (at, sign) in signs.iter().enumerate() {
        if !matches!(sign, '[' | '［' | '【') || at > 0 && signs[at - 1] == '\\' {
            continue;
        }
        let inside: String = signs[at + 1..].iter().take_while(|sign| !matches!(sign, ']' | '］' | '】')).collect();
        let inside = inside.trim();
        if !inside.is_empty() && inside.chars().all(|sign| sign.is_numeric() || " ,–-".contains(sign)) {
            found.push(inside.to_owned());
        }
    }
    found
}

/// The invisible characters of a text, except where the letters or emoji before them need them.
pub fn invisible(text: &str) -> Vec<char> {
    let mut before = ' ';
    let mut found = Vec::new();
    for character in text.chars() {
        let is_needed = match character {
            '\u{200c}' | '\u{200d}' => {
                matches!(before, '\u{620}'..='\u{6d3}' | '\u{900}'..='\u{dff}' | '\u{1f300}'..='\u{1faff}' | '\u{fe0f}')
            }
            '\u{fe0f}' => matches!(before, '0'..='9' | '\u{2600}'..='\u{27bf}' | '\u{1f300}'..='\u{1faff}'),
            _ => false,
        };
        if is_invisible(character) && !is_needed {
            found.push(character);
        }
        before = character;
    }
    found
}

fn is_invisible(character: char) -> bool {
    character.is_control() && character != '\n' && character != '\t' && character != '\r'
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
