//! Queries about symbols.

use super::{ToolCall, ToolCallError, arguments::Arguments};
use pitcrew_model::limits;

/// By name, or by a question that contains a name.
pub fn query(arguments: &Arguments) -> Result<ToolCall, ToolCallError> {
    let symbol = arguments.words(&["symbol", "name", "symbolname"], limits::NAME_BYTES_MAX);
    let question = arguments.words(&["question", "query"], limits::QUERY_CONTEXT_BYTES_MAX);
    let context = arguments.words(&["context", "from", "path", "file"], CONTEXT_BYTES_MAX);
    let context = context.unwrap_or_default();
    match (symbol, question) {
        (Some(symbol), None) => Ok(ToolCall::Query { symbol, context }),
        // The question says more than the name alone.
        (Some(symbol), Some(question)) => {
            Ok(ToolCall::Query { symbol, context: joined(&context, &question) })
        }
        (None, Some(question)) => {
            let symbol = name_in(&question).unwrap_or(&question).to_owned();
            let context = joined(&context, &question);
            Ok(ToolCall::Query { symbol, context })
        }
        (None, None) => Err(arguments.missing("symbol", "the name to look up")),
    }
}

const CONTEXT_BYTES_MAX: usize = limits::QUERY_CONTEXT_BYTES_MAX;

fn joined(context: &str, question: &str) -> String {
    if context.is_empty() { question.to_owned() } else { format!("{context} ({question})") }
}

/// Returns the text in backquotes, otherwise the first word that looks like an identifier.
fn name_in(question: &str) -> Option<&str> {
    let quoted = question.split('`').nth(1).map(str::trim).filter(|it| !it.is_empty());
    let words = question.split(|it: char| it.is_whitespace() || ",;?!()\"'".contains(it));
    let mut names = words.map(|it| it.trim_matches(['.', ':'])).filter(|it| is_name(it));
    quoted.or_else(|| names.next())
}

/// `AuthValidator`, `check_token`, `auth::check`, `auth.check`.
fn is_name(word: &str) -> bool {
    let parts = word.contains('_') || word.contains("::") || word.contains('.');
    let camel =
        word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    parts || camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_about_the_name_in_the_question() {
        for (question, name) in [
            ("what are the fields of `Token`?", Some("Token")),
            ("What does AuthValidator need?", Some("AuthValidator")),
            ("how is check_token called", Some("check_token")),
            ("signature of auth::Store::open.", Some("auth::Store::open")),
            ("What is the time?", None),
        ] {
            assert_eq!(name_in(question), name, "{question}");
        }
    }
}
