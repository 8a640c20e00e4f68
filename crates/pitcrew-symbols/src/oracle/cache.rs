//! Caches answers until a file changes.

use super::{Answer, Question};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher as _, RandomState},
};

const ANSWERS_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Answers {
    generation: u64,
    hasher: RandomState,
    known: HashMap<u64, Given>,
    /// Oldest first. Entries are dropped one by one, so that no question has to drop all of them.
    order: VecDeque<u64>,
}

#[derive(Debug)]
struct Given {
    symbol: String,
    context: String,
    from: Option<String>,
    answer: Answer,
}

impl Answers {
    pub fn get(&self, question: &Question<'_>, generation: u64) -> Option<Answer> {
        if generation != self.generation {
            return None;
        }
        let given = self.known.get(&self.key(question))?;
        let asked = (given.symbol.as_str(), given.context.as_str(), given.from.as_deref());
        (asked == (question.symbol, question.context, question.from)).then(|| given.answer.clone())
    }

    pub fn put(&mut self, question: &Question<'_>, generation: u64, answer: &Answer) {
        if generation != self.generation {
            self.known.clear();
            self.order.clear();
            self.generation = generation;
        }
        let key = self.key(question);
        if self.order.len() == ANSWERS_MAX
            && !self.known.contains_key(&key)
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        let given = Given {
            symbol: question.symbol.to_owned(),
            context: question.context.to_owned(),
            from: question.from.map(str::to_owned),
            answer: answer.clone(),
        };
        if self.known.insert(key, given).is_none() {
            self.order.push_back(key);
        }
    }

    fn key(&self, question: &Question<'_>) -> u64 {
        self.hasher.hash_one((question.symbol, question.context, question.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(symbol: &str) -> Question<'_> {
        Question { symbol, ..Question::default() }
    }

    fn answered(text: &str) -> Answer {
        Answer { text: text.to_owned(), ..Answer::default() }
    }

    #[test]
    fn the_oldest_answer_is_dropped_first_and_a_change_drops_all() {
        let mut answers = Answers::default();
        let names: Vec<String> = (0..=ANSWERS_MAX).map(|it| it.to_string()).collect();
        for name in &names {
            answers.put(&ask(name), 1, &answered(name));
            answers.put(&ask(name), 1, &answered(name));
        }
        assert_eq!(answers.get(&ask("0"), 1), None);
        for name in &names[1..] {
            assert_eq!(answers.get(&ask(name), 1), Some(answered(name)));
        }
        let elsewhere = Question { from: Some("a.rs"), ..ask("1") };
        assert_eq!(answers.get(&elsewhere, 1), None, "it is another question");
        assert_eq!(answers.get(&ask("1"), 2), None, "a file has changed");
        answers.put(&ask("1"), 2, &answered("new"));
        assert_eq!(answers.get(&ask("2"), 2), None);
        assert_eq!(answers.get(&ask("1"), 2), Some(answered("new")));
    }
}
