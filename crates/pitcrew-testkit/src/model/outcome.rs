//! What the model does next in a conversation.

use super::{
    conversation::{Conversation, Item, tokens_in},
    script::{self, Aside, Block, Failure, Script, Step, Tokens},
    tools::{self, Call},
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    /// How long to wait before it.
    pub delay: Duration,
    /// What has to be let go before it.
    pub hold: Option<String>,
    /// The prompt whose script is done, and how many of its steps were done before.
    pub place: Option<(String, usize)>,
    pub answer: Result<Reply, Failure>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub thought: String,
    pub text: String,
    pub call: Option<Call>,
    pub tokens: Tokens,
}

/// Decides what comes next. `fails` is asked whether a failure happens, with a number that stands
/// for this place in this conversation.
pub(super) fn outcome(
    conversation: &Conversation,
    fails: impl Fn(u64, &Failure) -> bool,
) -> Outcome {
    // Agents also ask for titles and summaries. They offer no tools then, and get no steps.
    if conversation.tools.is_empty() {
        return said(conversation, "Scripted");
    }
    match find(conversation) {
        Some(Ok(place)) => {
            let outcome = step(conversation, &place, fails);
            Outcome { place: Some((place.prompt, place.done_count)), ..outcome }
        }
        Some(Err(reason)) => failed(reason),
        None => said(conversation, "There is no script in this conversation."),
    }
}

fn step(
    conversation: &Conversation,
    place: &Place,
    fails: impl Fn(u64, &Failure) -> bool,
) -> Outcome {
    let mut next = Next::default();
    let mut acts_left = place.done_count;
    for (index, step) in place.steps.iter().enumerate() {
        match step {
            Step::Aside(aside) => next.hear(aside),
            Step::Act(act) if tools::is_left_out(act, &conversation.tools) => {}
            Step::Act(_) if acts_left > 0 => {
                acts_left -= 1;
                next = Next::default();
            }
            Step::Act(act) => {
                let root = root(conversation);
                return match tools::call(act, &conversation.tools, root.as_deref()) {
                    Ok(call) => next.outcome(conversation, Some(call)),
                    Err(reason) => failed(reason),
                };
            }
            Step::Fail(_) if acts_left > 0 => {}
            Step::Fail(failure) if !fails(place.number(index), failure) => {}
            Step::Fail(failure) => {
                let Next { delay, hold, .. } = next;
                return Outcome { delay, hold, place: None, answer: Err(failure.clone()) };
            }
        }
    }
    if next.text.is_empty() {
        "The script has ended.".clone_into(&mut next.text);
    }
    next.outcome(conversation, None)
}

/// The script cannot be followed.
fn failed(message: String) -> Outcome {
    let failure = Failure { status: 400, reset_s: None, once: false, message };
    Outcome { delay: Duration::ZERO, hold: None, place: None, answer: Err(failure) }
}

fn said(conversation: &Conversation, text: &str) -> Outcome {
    Next { text: text.to_owned(), ..Next::default() }.outcome(conversation, None)
}

/// The answer that is being put together.
#[derive(Default)]
struct Next {
    delay: Duration,
    hold: Option<String>,
    thought: String,
    text: String,
    tokens: Option<Tokens>,
}

impl Next {
    fn hear(&mut self, aside: &Aside) {
        match aside {
            Aside::Say(text) => self.text.push_str(text),
            Aside::Think(text) => self.thought.push_str(text),
            Aside::Sleep(time) => self.delay += *time,
            Aside::Hold(name) => self.hold = Some(name.clone()),
            Aside::Usage(tokens) => self.tokens = Some(*tokens),
        }
    }

    fn outcome(self, conversation: &Conversation, call: Option<Call>) -> Outcome {
        let Self { delay, hold, thought, text, tokens } = self;
        let tokens = tokens.unwrap_or_else(|| {
            let called = call.as_ref().map_or(0, |it| it.input.to_string().len());
            let output = tokens_in(thought.len() + text.len() + called);
            Tokens { input: conversation.tokens_count(), output, cached: 0 }
        });
        let answer = Ok(Reply { thought, text, call, tokens });
        Outcome { delay, hold, place: None, answer }
    }
}

/// Where a conversation stands in its script.
struct Place {
    steps: Vec<Step>,
    /// The steps of this many tool calls are done.
    done_count: usize,
    prompt: String,
}

impl Place {
    fn number(&self, index: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.prompt, self.done_count, index).hash(&mut hasher);
        hasher.finish()
    }
}

/// The newest script counts, and within it the block for the newest prompt.
///
/// Agents put texts of their own between the messages: those that no block waits for are nothing new.
fn find(conversation: &Conversation) -> Option<Result<Place, String>> {
    let prompts = || {
        let items = conversation.items.iter().enumerate().rev();
        items.filter_map(|(index, item)| match item {
            Item::User(text) => Some((index, text)),
            Item::ToolResult => None,
        })
    };
    let (at, script) = prompts().find_map(|(at, text)| Some((at, script::parse(text)?)))?;
    let script = match script {
        Ok(script) => script,
        Err(reason) => return Some(Err(reason)),
    };
    let mut later = prompts().take_while(|it| it.0 > at);
    let waited_for = later.find_map(|(at, text)| Some((at, block_for(&script, text)?)));
    let (at, steps) = waited_for.unwrap_or_else(|| {
        let block = block_for(&script, &script.prose);
        (at, block.unwrap_or_else(|| always(&script)))
    });
    let done = conversation.items[at..].iter().filter(|it| **it == Item::ToolResult);
    let prompt = match &conversation.items[at] {
        Item::User(text) => text.clone(),
        Item::ToolResult => String::new(),
    };
    Some(Ok(Place { steps, done_count: done.count(), prompt }))
}

/// The steps of the last block that waits for something in the text.
fn block_for(script: &Script, text: &str) -> Option<Vec<Step>> {
    let waits = |it: &&Block| it.when.as_deref().is_some_and(|it| text.contains(it));
    script.blocks.iter().rev().find(waits).map(|it| it.steps.clone())
}

fn always(script: &Script) -> Vec<Step> {
    let blocks = script.blocks.iter().filter(|it| it.when.is_none());
    blocks.flat_map(|it| it.steps.clone()).collect()
}

/// What agents and we write before the name of the session's folder.
const ROOT_MARKS: &[&str] = &[
    "Your checkout is ",
    "orking directory: ",
    "orking directory is ",
    "orking directory is: ",
    "<cwd>",
    "Workspace Path: ",
    "directory: ",
];

/// The session's folder, if anything in the conversation names it.
fn root(conversation: &Conversation) -> Option<String> {
    let prompts = conversation.items.iter().filter_map(|it| match it {
        Item::User(text) => Some(text.as_str()),
        Item::ToolResult => None,
    });
    let texts: Vec<&str> = prompts.chain([conversation.system.as_str()]).collect();
    let behind = |mark: &&str| texts.iter().find_map(|it| path_behind(it, mark));
    ROOT_MARKS.iter().find_map(behind)
}

fn path_behind(text: &str, mark: &str) -> Option<String> {
    text.match_indices(mark).find_map(|(at, _)| {
        let path = &text[at + mark.len()..].trim_start_matches(['`', '"', '\'']);
        let ends = |it: char| it.is_whitespace() || "<`\"'".contains(it);
        let path = path.split(ends).next()?.trim_end_matches(['.', '/', ',']);
        path.starts_with('/').then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests;
