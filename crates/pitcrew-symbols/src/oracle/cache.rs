//! Answers that were given, as long as no file has changed.

use super::{Answer, Question};
use std::collections::HashMap;

const ANSWERS_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Answers {
    generation: u64,
    known: HashMap<(String, String, Option<String>), Answer>,
}

impl Answers {
    pub fn get(&self, question: &Question<'_>, generation: u64) -> Option<Answer> {
        if generation != self.generation {
            return None;
        }
        self.known.get(&key(question)).cloned()
    }

    pub fn put(&mut self, question: &Question<'_>, generation: u64, answer: &Answer) {
        if generation != self.generation || self.known.len() >= ANSWERS_MAX {
            self.known.clear();
            self.generation = generation;
        }
        self.known.insert(key(question), answer.clone());
    }
}

fn key(question: &Question<'_>) -> (String, String, Option<String>) {
    let from = question.from.map(str::to_owned);
    (question.symbol.to_owned(), question.context.to_owned(), from)
}
