//! Determines the model's next response in a conversation.

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
pub(super) struct ModelResponse {
    /// The delay before it.
    pub delay: Duration,
    /// The hold that must be released before it.
    pub hold: Option<String>,
    /// The prompt whose script runs, and the number of completed steps.
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

/// Determines the next response. `fails` returns whether a failure occurs, given a number for this
/// position in this conversation.
pub(super) fn response(
    conversation: &Conversation,
    fails: impl Fn(u64, &Failure) -> bool,
) -> ModelResponse {
    // Agents also request titles and summaries. Those requests offer no tools, and get no steps.
    if conversation.tools.is_empty() {
        return said(conversation, "Scripted");
    }
    match find(conversation) {
        Some(Ok(place)) => {
            let response = step(conversation, &place, fails);
            ModelResponse { place: Some((place.prompt, place.done_count)), ..response }
        }
        Some(Err(reason)) => failed(reason),
        None => said(conversation, "There is no script in this conversation."),
    }
}

fn step(
    conversation: &Conversation,
    place: &ScriptPosition,
    fails: impl Fn(u64, &Failure) -> bool,
) -> ModelResponse {
    let mut next = ResponseDraft::default();
    let mut acts_left = place.done_count;
    for (index, step) in place.steps.iter().enumerate() {
        match step {
            Step::Aside(aside) => next.add_aside(aside),
            Step::Act(act) if tools::is_left_out(act, &conversation.tools) => {}
            Step::Act(_) if acts_left > 0 => {
                acts_left -= 1;
                next = ResponseDraft::default();
            }
            Step::Act(act) => {
                let root = root(conversation);
                return match tools::call(act, &conversation.tools, root.as_deref()) {
                    Ok(call) => next.response(conversation, Some(call)),
                    Err(reason) => failed(reason),
                };
            }
            Step::Fail(_) if acts_left > 0 => {}
            Step::Fail(failure) if !fails(place.number(index), failure) => {}
            Step::Fail(failure) => {
                let ResponseDraft { delay, hold, .. } = next;
                return ModelResponse { delay, hold, place: None, answer: Err(failure.clone()) };
            }
        }
    }
    if next.text.is_empty() {
        "The script has ended.".clone_into(&mut next.text);
    }
    next.response(conversation, None)
}

/// The script is invalid.
fn failed(message: String) -> ModelResponse {
    let failure = Failure { status: 400, reset_s: None, once: false, message };
    ModelResponse { delay: Duration::ZERO, hold: None, place: None, answer: Err(failure) }
}

fn said(conversation: &Conversation, text: &str) -> ModelResponse {
    ResponseDraft { text: text.to_owned(), ..ResponseDraft::default() }.response(conversation, None)
}

/// The response that is being assembled.
#[derive(Default)]
struct ResponseDraft {
    delay: Duration,
    hold: Option<String>,
    thought: String,
    text: String,
    tokens: Option<Tokens>,
}

impl ResponseDraft {
    fn add_aside(&mut self, aside: &Aside) {
        match aside {
            Aside::Say(text) => self.text.push_str(text),
            Aside::Think(text) => self.thought.push_str(text),
            Aside::Sleep(time) => self.delay += *time,
            Aside::Hold(name) => self.hold = Some(name.clone()),
            Aside::Usage(tokens) => self.tokens = Some(*tokens),
        }
    }

    fn response(self, conversation: &Conversation, call: Option<Call>) -> ModelResponse {
        let Self { delay, hold, thought, text, tokens } = self;
        let tokens = tokens.unwrap_or_else(|| {
            let called = call.as_ref().map_or(0, |it| it.input.to_string().len());
            let output = tokens_in(thought.len() + text.len() + called);
            Tokens { input: conversation.tokens_count(), output, cached: 0 }
        });
        let answer = Ok(Reply { thought, text, call, tokens });
        ModelResponse { delay, hold, place: None, answer }
    }
}

/// The position of a conversation in its script.
struct ScriptPosition {
    steps: Vec<Step>,
    /// The steps of this many tool calls are complete.
    done_count: usize,
    prompt: String,
}

impl ScriptPosition {
    fn number(&self, index: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.prompt, self.done_count, index).hash(&mut hasher);
        hasher.finish()
    }
}

/// The newest script applies, and within it the block for the newest prompt.
///
/// Agents insert their own texts between the messages: texts that no block waits for are ignored.
fn find(conversation: &Conversation) -> Option<Result<ScriptPosition, String>> {
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
    Some(Ok(ScriptPosition { steps, done_count: done.count(), prompt }))
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

/// Phrases that precede the path of the session's folder.
const ROOT_MARKS: &[&str] = &[
    "Your checkout is ",
    "orking directory: ",
    "orking directory is ",
    "orking directory is: ",
    "<cwd>",
    "Workspace Path: ",
    "directory: ",
];

/// The session's folder, if the conversation contains it.
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
