use ragengine_pipeline::stream::{Piece, Said};

use super::answer_stages::AnswerEnd;
use super::kept::Kept;
use super::open_turn::OpenTurn;

/// What hears the text of an answer on its way to the client.
#[derive(Default)]
pub(super) struct Hearing {
    /// What is kept of the chat.
    pub kept: Option<Box<Kept>>,
    /// The turn of the conversation.
    pub turn: Option<OpenTurn>,
}

impl Hearing {
    /// Adds the text in a piece of a stream that passes no stages.
    pub fn hear(&mut self, piece: &Piece) {
        if self.kept.is_none() && self.turn.is_none() {
            return;
        }
        for chunk in &piece.chunks {
            let Said::Answer { deltas, .. } = &chunk.said else { continue };
            for delta in deltas.iter().filter(|delta| delta.choice == 0) {
                self.hear_text(&delta.text, delta.finish_reason.as_deref());
            }
        }
    }

    /// Adds a part of the answer as it is sent, and why the answer ended.
    pub fn hear_text(&mut self, text: &str, finish_reason: Option<&str>) {
        self.kept.iter_mut().for_each(|kept| kept.hear_text(text, finish_reason));
        self.turn.iter().for_each(|turn| turn.hear_text(text, finish_reason));
    }

    /// The stages of the answer have ended.
    pub fn ends(&mut self, end: &AnswerEnd) {
        if end.is_rejected() || end.is_blocked() {
            self.kept.iter_mut().for_each(|kept| kept.forget_interaction());
        }
    }
}
