//! Text of others appears in prompts only as a quote, and is never executed.

use crate::script::Script;
use pitcrew_model::{Effect, text};
use pitcrew_testkit::corpus;

/// Every way in which text of one task reaches another one: a message, a question and its answer, a
/// query, a result, a summary, a file name, and a failure.
const ALL_WAYS: &str = "
    ~ slots 9
    ~ matrix approve=command_execution
    ~ plan demo effort=high setup=prepare | a in core | e in ui | b after a in lib command=make agent=command check=test | c after a in doc script=complete agent=command | d after a in app check=test
    ~ prepared plan-1
    ~ start task-1
    ~ start task-2
    ~ tell attempt-1 @worker-2 said $WORDS
    ~ turn worker-2 end_turn
    ~ ask attempt-2 said $WORDS
    ~ turn worker-2 end_turn
    ~ answer request-1 said $WORDS
    ~ query attempt-2 TokenStore said $WORDS
    ~ unknown query-1 core/tokens.rs
    ~ tick +5s
    ~ turn worker-1 end_turn
    ~ reply attempt-1 said $WORDS
    ~ turn worker-2 end_turn
    ~ spawn attempt-2 | look | run command=make
    ~ turn worker-2 end_turn
    ~ start subtask-6
    ~ start subtask-7
    ~ complete attempt-3 said $WORDS
    ~ turn worker-3 end_turn
    ~ stopped worker-3
    ~ complete attempt-4 failed said $WORDS
    ~ turn worker-4 end_turn
    ~ stopped worker-4
    ~ message task-3 said $WORDS
    ~ message task-4 said $WORDS
    ~ message task-5 said $WORDS
    ~ complete attempt-1 said $WORDS
    ~ turn worker-1 end_turn
    ~ stopped worker-1
    ~ collected attempt-1 core/$WORDS
    ~ verified attempt-1
    ~ integrated attempt-1
    ~ start task-3
    ~ start task-4
    ~ start task-5
    ~ finish task-3
    ~ collected attempt-5 lib/$WORDS
    ~ fail attempt-5 red said $WORDS
    ~ complete attempt-6 failed said $WORDS
    ~ turn worker-6 end_turn
    ~ stopped worker-6
    ~ saved attempt-6
    ~ finish task-5
    ~ fail attempt-7 gate said $WORDS
    ~ saved attempt-7
    ~ tick +9s
    ~ start task-3
    ~ start task-4
    ~ start task-5
    ~ finish task-5
    ~ collected attempt-10
    ~ fail attempt-10 conflict said $WORDS
    ~ tick +9s
    ~ start task-5
";

/// The same, as quoted in prompts.
const WAYS: [&str; 11] = [
    "thread=\"message-1\">\n> said words\n",
    "kind=\"question\">\n> said words\n",
    "kind=\"answer\">\n> said words\n",
    "Context: said words. Reply",
    "status=\"success\" agent=\"claude\">\n> said words\n",
    "the agent gave up: said words\n",
    "from=\"person\">\n> said words\n",
    "kind=\"failure\">\n> check `test` failed with exit code 1\n> $ test\n> said words\n",
    "> said words: outside the region\n",
    "> conflict in said words\n",
    "> a: said words\n> M core/words\n",
];

fn effects(words: &str) -> Vec<Effect> {
    let mut script = Script::default();
    script.words = words.into();
    script.run(ALL_WAYS);
    script.effects
}

/// Returns a prompt without its quotes, which have lines of their own.
fn unquoted(prompt: &str) -> String {
    let (mut out, mut tags, mut lines) = (String::new(), Vec::new(), prompt.lines());
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(opened) = line.strip_prefix("<pitcrew:") else { continue };
        let tag = format!("pitcrew:{}", opened.split(' ').next().expect("a tag"));
        let close = format!("</{tag}>");
        let quote: Vec<&str> = lines.by_ref().take_while(|it| *it != close).collect();
        for line in quote {
            assert!(line.starts_with("> ") && !line.contains(&tag), "{line:?} in {prompt}");
        }
        tags.push(tag);
    }
    tags.iter().fold(out, |out, tag| out.replace(tag, "pitcrew:TAG"))
}

/// Removes the quotes. The rest must not depend on them.
fn without_quotes(mut effect: Effect) -> Effect {
    if let Effect::Prompt { text, .. } = &mut effect {
        *text = unquoted(text);
    } else if let Effect::CollectWork { message, .. } = &mut effect {
        // The text of a commit is not executed.
        message.clear();
    } else if let Effect::ConsultOracle { context, .. } = &mut effect {
        // The index only looks up a name.
        context.clear();
    }
    effect
}

#[test]
fn text_of_others_does_not_change_what_is_executed() {
    let plain = effects("words");
    for way in WAYS {
        let is_told = |it: &Effect| matches!(it, Effect::Prompt { text, .. } if text.contains(way));
        assert!(plain.iter().any(is_told), "{way}");
    }
    let plain: Vec<Effect> = plain.into_iter().map(without_quotes).collect();
    let orders = plain.iter().filter(|it| matches!(it, Effect::Prompt { order: Some(_), .. }));
    assert_eq!(orders.count(), 5, "two tasks, both of them twice, and a sub-task");
    corpus!("words").check(150, |bytes| {
        let words = String::from_utf8_lossy(bytes);
        let hostile = effects(text::cut(&words, 2_000));
        assert_eq!(hostile.len(), plain.len());
        for (hostile, plain) in hostile.into_iter().zip(&plain) {
            assert_eq!(&without_quotes(hostile), plain);
        }
    });
}
