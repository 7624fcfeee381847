use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::budget::{BudgetInput, budget};
use crate::plan::{Plan, Turn, plan};
use crate::prompt::{Boundary, Passage, block};
use crate::request::{ContextFormat, HistoryFormat, Request};
use crate::select::{Candidate, select};

/// A tokenizer with a fixed number of bytes per token. Its counts do not add up: joining two texts changes the sum by
/// up to `seam` tokens. Real tokenizers are closer.
#[derive(Debug, Clone, Copy)]
struct Tokenizer {
    bytes_per_token: usize,
    seam: u64,
}

impl Tokenizer {
    fn count(self, text: &str) -> u64 {
        let noise = text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte)) % (self.seam + 1);
        text.len().div_ceil(self.bytes_per_token) as u64 + noise
    }

    fn conversation(self, messages: &[Value]) -> u64 {
        messages.iter().map(|message| self.count(message["content"].as_str().unwrap()) + 4).sum::<u64>() + 3
    }
}

fn request(messages: &Value, max_tokens: Option<u64>, ratio: f64) -> Request {
    let body =
        json!({"index_name": "docs", "messages": messages, "max_tokens": max_tokens, "context_token_ratio": ratio});
    crate::openai::read(body.to_string().into()).unwrap()
}

fn turn(request: &Request) -> Turn {
    match plan(request) {
        Ok(Plan::Retrieve(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_blocks_are_removed_when_the_prompt_exceeds_the_budget() {
    let request = request(&json!([{"role": "user", "content": "q"}]), None, 0.5);
    let budget = Budget { max_tokens: None, lowered_from: None, top_k: 100, context_tokens: 40, response_tokens: 40 };
    let blocks = ["a".repeat(20), "b".repeat(20), "c".repeat(20)];
    let given = PromptInput {
        conversation: ConversationInput {
            conversation: &request.conversation,
            sent: &request.conversation.values().unwrap(),
            turn: &turn(&request),
            history_format: HistoryFormat::Messages,
        },
        standalone_question: None,
        window: 1000,
        conversation_tokens: 10,
        budget: &budget,
        boundary: &Boundary::of(7),
        format: ContextFormat::Numbered,
        interactions: None,
    };
    // In this test, each block has 20 tokens and the instructions have none.
    let count =
        |messages: &[Value]| 160 + messages[0]["content"].as_str().unwrap().matches(['a', 'b', 'c']).count() as u64;
    let words =
        count(&prompt::messages(given.conversation, &prompt::context(&Boundary::of(7), ContextFormat::Numbered, &[])))
            - 160;
    let finished = finish(&given, &blocks, |messages, _| count(messages) - words).unwrap();
    assert_eq!((finished.blocks, finished.prompt_tokens, finished.max_tokens), (2, 200, None));
}

#[test]
fn a_prompt_that_leaves_no_token_for_the_answer_is_refused() {
    let request = request(&json!([{"role": "user", "content": "q"}]), Some(5), 0.5);
    let budget = Budget { max_tokens: Some(5), lowered_from: None, top_k: 100, context_tokens: 0, response_tokens: 5 };
    let given = PromptInput {
        conversation: ConversationInput {
            conversation: &request.conversation,
            sent: &request.conversation.values().unwrap(),
            turn: &turn(&request),
            history_format: HistoryFormat::Messages,
        },
        standalone_question: None,
        window: 100,
        conversation_tokens: 10,
        budget: &budget,
        boundary: &Boundary::of(7),
        format: ContextFormat::Numbered,
        interactions: None,
    };
    assert_eq!(finish(&given, &[], |_, _| 100), Err(Rejection::ContextWindow));
    assert_eq!(finish(&given, &[], |_, _| 98).unwrap().max_tokens, Some(2));
}

#[test]
fn a_standalone_question_that_leaves_no_token_for_the_answer_is_left_out() {
    let request = request(&json!([{"role": "user", "content": "q"}]), Some(5), 0.5);
    let budget = Budget { max_tokens: Some(5), lowered_from: None, top_k: 100, context_tokens: 0, response_tokens: 5 };
    let given = PromptInput {
        conversation: ConversationInput {
            conversation: &request.conversation,
            sent: &request.conversation.values().unwrap(),
            turn: &turn(&request),
            history_format: HistoryFormat::Messages,
        },
        standalone_question: Some("Which q?"),
        window: 100,
        conversation_tokens: 98,
        budget: &budget,
        boundary: &Boundary::of(7),
        format: ContextFormat::Numbered,
        interactions: None,
    };
    let finished = |line_tokens: u64| {
        let count = |messages: &[Value], _| if messages.len() > 1 { 98 + line_tokens } else { 98 };
        finish(&given, &[], count).map(|finished| (finished.messages.len(), finished.prompt_tokens))
    };
    assert_eq!(finished(1), Ok((2, 99)));
    assert_eq!(finished(2), Ok((1, 98)));
    assert_eq!(finish(&given, &[], |_, _| 100), Err(Rejection::ContextWindow), "The conversation alone does not fit.");
}

#[test]
fn interactions_stand_after_the_blocks_or_alone() {
    let request = request(&json!([{"role": "user", "content": "q"}]), None, 0.5);
    let budget = Budget { max_tokens: None, lowered_from: None, top_k: 100, context_tokens: 40, response_tokens: 40 };
    let interactions = prompt::interactions(&Boundary::of(7), "Q: Why?\nA: So.");
    let given = PromptInput {
        conversation: ConversationInput {
            conversation: &request.conversation,
            sent: &request.conversation.values().unwrap(),
            turn: &turn(&request),
            history_format: HistoryFormat::Messages,
        },
        standalone_question: None,
        window: 1000,
        conversation_tokens: 10,
        budget: &budget,
        boundary: &Boundary::of(7),
        format: ContextFormat::Numbered,
        interactions: Some(&interactions),
    };
    let system = |blocks: &[String]| {
        let finished = finish(&given, blocks, |_, _| 100).unwrap();
        assert_eq!(finished.blocks, blocks.len());
        finished.messages[0]["content"].as_str().unwrap().to_owned()
    };
    let block = block(1, &Passage { text: "Call first.", ..Passage::default() });
    let both = system(std::slice::from_ref(&block));
    assert_eq!(
        both,
        format!("{}\n\n{interactions}", prompt::context(&Boundary::of(7), ContextFormat::Numbered, &[block]))
    );
    assert_eq!(system(&[]), interactions);
    let without_blocks = without_blocks(&given);
    let empty = prompt::context(&Boundary::of(7), ContextFormat::Numbered, &[]);
    assert_eq!(without_blocks[0]["content"], format!("{empty}\n\n{interactions}"));
    assert_eq!(without_blocks[1], json!({"role": "user", "content": "q"}));
}

#[test]
fn a_standalone_question_stands_after_the_context_and_before_the_history() {
    let messages = json!([
        {"role": "user", "content": "How do I report?"},
        {"role": "assistant", "content": "By mail."},
        {"role": "user", "content": "When?"}
    ]);
    let request = request(&messages, None, 0.5);
    let budget = Budget { max_tokens: None, lowered_from: None, top_k: 10, context_tokens: 400, response_tokens: 40 };
    let given = |history_format| PromptInput {
        conversation: ConversationInput {
            conversation: &request.conversation,
            sent: messages.as_array().unwrap(),
            turn: Box::leak(Box::new(turn(&request))),
            history_format,
        },
        standalone_question: Some("When are reports due?"),
        window: 1000,
        conversation_tokens: 10,
        budget: &budget,
        boundary: Box::leak(Box::new(Boundary::of(7))),
        format: ContextFormat::Numbered,
        interactions: None,
    };
    let block = block(1, &Passage { text: "Due in May.", ..Passage::default() });
    let context = prompt::context(&Boundary::of(7), ContextFormat::Numbered, std::slice::from_ref(&block));
    let line = "Standalone question: When are reports due?";
    let finished = |format, blocks: &[String]| finish(&given(format), blocks, |_, _| 100).unwrap().messages;
    let asked = &finished(HistoryFormat::Messages, std::slice::from_ref(&block));
    assert_eq!(asked[0]["content"], format!("{context}\n\n{line}"));
    assert_eq!(asked[1..], messages.as_array().unwrap()[..]);
    let history = "CONVERSATION HISTORY:\nUser: How do I report?\nAssistant: By mail.\n\nUse this history to provide \
                   context-aware responses.";
    let asked = &finished(HistoryFormat::Section, &[block]);
    assert_eq!(asked[0]["content"], format!("{context}\n\n{line}\n\n{history}"));
    assert_eq!(asked[1..], messages.as_array().unwrap()[2..]);
    assert_eq!(finished(HistoryFormat::Section, &[])[0]["content"], format!("{line}\n\n{history}"));
}

proptest! {
    /// The same steps as in the server, from the request to the finished prompt.
    #[test]
    fn the_prompt_and_the_answer_never_exceed_the_window(
        history in proptest::collection::vec(("(user|assistant|system|developer)", ".{0,60}"), 0..6),
        question in "[a-zäß? ]{1,80}x",
        chunks in proptest::collection::vec((".{0,400}", 0.0_f32..2.0), 0..40),
        max_tokens in proptest::option::of(1_u64..6000),
        ratio in 0.2_f64..=0.8,
        window in 1_u64..5000,
        bytes_per_token in 1_usize..6,
        seam in 0_u64..4,
    ) {
        let tokenizer = Tokenizer { bytes_per_token, seam };
        let mut messages: Vec<Value> = history
            .iter()
            .filter(|(role, content)| role != "user" || !content.is_empty())
            .map(|(role, content)| json!({"role": role, "content": content}))
            .collect();
        messages.push(json!({"role": "user", "content": question}));
        let request = request(&Value::from(messages.clone()), max_tokens, ratio);
        let turn = turn(&request);
        let conversation = tokenizer.conversation(&messages);
        let given = BudgetInput {
            window, conversation, max_tokens, context_token_ratio: ratio, min_top_k: 100, tokens_per_chunk: 500,
        };
        let Ok(budget) = budget(&given) else {
            prop_assert!(conversation >= window);
            return Ok(());
        };
        let render = |number: usize, text: &str| block(number, &Passage { text, ..Passage::default() });
        let candidates: Vec<Candidate> = chunks
            .iter()
            .map(|(text, distance)| Candidate { distance: *distance, tokens: tokenizer.count(&render(100, text)), is_duplicate: false })
            .collect();
        let selection = select(&candidates, 0.85, budget.context_tokens);
        let blocks: Vec<String> = selection
            .selected()
            .enumerate()
            .map(|(position, chunk)| render(position + 1, &chunks[chunk].0))
            .collect();
        let input = PromptInput {
            conversation: ConversationInput {
                conversation: &request.conversation,
                sent: &request.conversation.values().unwrap(),
                turn: &turn,
                history_format: HistoryFormat::Messages,
            },
            standalone_question: None,
            window,
            conversation_tokens: conversation,
            budget: &budget,
            boundary: &Boundary::of(7),
            format: ContextFormat::Numbered,
            interactions: None,
        };
        match finish(&input, &blocks, |messages, _| tokenizer.conversation(messages)) {
            Err(rejection) => prop_assert_eq!(rejection, Rejection::ContextWindow),
            Ok(finished) => {
                prop_assert_eq!(finished.prompt_tokens, tokenizer.conversation(&finished.messages));
                prop_assert!(finished.prompt_tokens + finished.max_tokens.unwrap_or(1) <= window);
                prop_assert!(finished.max_tokens <= max_tokens);
                prop_assert!(finished.blocks <= blocks.len());
                prop_assert!(
                    finished.blocks == 0
                        || finished.prompt_tokens <= conversation + INSTRUCTION_TOKENS + budget.context_tokens
                );
            }
        }
    }
}
