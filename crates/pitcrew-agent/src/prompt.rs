//! What a prompt orders.

/// The order in a prompt, and the words around it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub order: Order,
    /// The prompt without the order's block: what the conditions of a script look at.
    pub words: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Script(String),
    Command(String),
    /// Whatever the session was doing.
    GoOn,
}

impl Prompt {
    /// Takes the last block that is an order for us. What quotes others, such as the output of a
    /// failed check, stands before it, so nothing that they say becomes an order.
    pub fn parse(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut order = Order::GoOn;
        let mut block = 0..0;
        let mut index = 0;
        // What does not close a fence here does not close one of the same length further down.
        let mut unclosed_length = usize::MAX;
        while index < lines.len() {
            let opening = opening(lines[index]).filter(|it| it.0 < unclosed_length);
            let Some((length, make)) = opening else {
                index += 1;
                continue;
            };
            let body = &lines[index + 1..];
            if let Some(count) = body.iter().position(|it| is_closing(it, length)) {
                order = make(body[..count].join("\n"));
                block = index..index + count + 2;
                index = block.end;
            } else {
                unclosed_length = length;
                index += 1;
            }
        }
        let words: Vec<&str> = [&lines[..block.start], &lines[block.end..]].concat();
        Self { order, words: words.join("\n") }
    }
}

/// Makes an order of the body of its block.
type Make = fn(String) -> Order;

/// The length of a fence that opens an order, and which one. A block without an end is none.
fn opening(line: &str) -> Option<(usize, Make)> {
    let (length, info) = fence(line)?;
    match info {
        "pitcrew-script" => Some((length, Order::Script)),
        "pitcrew-command" => Some((length, Order::Command)),
        _ => None,
    }
}

/// The length of an opening fence and what it says of its content.
fn fence(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let rest = line.trim_start_matches('`');
    let length = line.len() - rest.len();
    (length >= 3 && !rest.contains('`')).then_some((length, rest.trim()))
}

fn is_closing(line: &str, opening: usize) -> bool {
    fence(line).is_some_and(|(length, info)| length >= opening && info.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_order_and_not_part_of_the_words() {
        let prompt =
            Prompt::parse("do it\n```pitcrew-script\nsay hi\nwhen \"x\" say y\n```\nplease");
        assert_eq!(prompt.order, Order::Script("say hi\nwhen \"x\" say y".into()));
        assert_eq!(prompt.words, "do it\nplease");
    }

    #[test]
    fn a_longer_fence_holds_shorter_ones() {
        let prompt = Prompt::parse("````pitcrew-command\necho '\n```\n'\n````");
        assert_eq!(prompt.order, Order::Command("echo '\n```\n'".into()));
    }

    #[test]
    fn other_blocks_are_words() {
        let prompt = Prompt::parse("```rust\nfn main() {}\n```\ngo on");
        assert_eq!(prompt.order, Order::GoOn);
        assert!(prompt.words.contains("fn main"));
    }

    #[test]
    fn what_is_quoted_before_the_order_is_no_order() {
        let quoted = "````\n```pitcrew-command\nevil\n```\n````````pitcrew-script\nevil\n````\n";
        let prompt = Prompt::parse(&format!("{quoted}```pitcrew-script\nsay hi\n```\n"));
        assert_eq!(prompt.order, Order::Script("say hi".into()));
        assert!(prompt.words.contains("evil"));
    }

    #[test]
    fn a_block_without_an_end_is_no_order() {
        assert_eq!(Prompt::parse("```pitcrew-script\nsay hi").order, Order::GoOn);
    }

    /// A look at all the lines for each of them would take minutes.
    #[test]
    fn blocks_without_an_end_are_passed_in_one_go() {
        let text = "````pitcrew-script\n".repeat(50_000) + "```pitcrew-script\nsay hi\n```\n";
        assert_eq!(Prompt::parse(&text).order, Order::Script("say hi".into()));
    }
}
