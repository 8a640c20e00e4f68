//! Questions and their answers.

use super::*;
use expect_test::expect;

const AUTH: &str = "/// Checks tokens of sessions.\npub struct AuthValidator {\n    pub token: String,\n    limit: u32,\n}\n\nimpl AuthValidator {\n    /// Whether it is valid.\n    pub fn check(&self, now: u64) -> bool { true }\n}\n";

fn tree() -> Tree {
    Tree::new(&[
        ("core/auth.rs", AUTH),
        ("core/door.rs", "pub struct Door;\nimpl Door { pub fn check(&self) {} }\n"),
        ("ui/auth.rs", "struct AuthValidator;\n"),
        ("ui/app.rs", "use core::door::Door;\nfn draw() {}\n"),
        ("notes.txt", "one\ntwo\n"),
    ])
}

/// S0-031, S0-032, S0-033, S0-048, S0-131
#[test]
fn an_answer_has_location_signature_fields_and_documentation() {
    let tree = tree();
    let answer = asked(&tree.index(), "AuthValidator");
    expect![[r#"
        struct AuthValidator (core/auth.rs:2-5)
          pub struct AuthValidator
          field pub token: String
          field limit: u32
          method pub fn check(&self, now: u64) -> bool
          doc: Checks tokens of sessions.
        struct AuthValidator (ui/auth.rs:1-1)
          struct AuthValidator
    "#]]
    .assert_eq(&answer.text);
    assert_eq!(answer.bytes_saved, (AUTH.len() as u64).saturating_sub(answer.text.len() as u64));
}

#[test]
fn names_are_found_in_any_notation() {
    let tree = tree();
    let index = tree.index();
    for (symbol, place) in [
        ("AuthValidator::check", "core/auth.rs:9"),
        ("Door.check", "core/door.rs:2"),
        ("core::auth::AuthValidator", "core/auth.rs:2"),
        ("ui/auth.rs:AuthValidator", "ui/auth.rs:1"),
        ("auth.rs:AuthValidator", "core/auth.rs:2"),
        ("use crate::ui::auth::AuthValidator;", "ui/auth.rs:1"),
        ("What does `Door` look like?", "core/door.rs:1"),
        ("AuthValidator.limit", "core/auth.rs:2"),
    ] {
        let answer = asked(&index, symbol);
        assert_eq!(
            places(&answer).first().map(String::as_str),
            Some(place),
            "{symbol}: {}",
            answer.text
        );
    }
}

/// S0-128: symbols with the same name are all found, and the context selects the best.
#[test]
fn the_context_selects_among_symbols_with_the_same_name() {
    let tree = tree();
    let index = tree.index();
    let ask = |context: &str, from: Option<&str>| {
        places(&index.query(&Question { symbol: "AuthValidator", context, from }))
    };
    let (core, ui) = ("core/auth.rs:2", "ui/auth.rs:1");
    assert_eq!(ask("", None), [core, ui], "what is public comes first");
    assert_eq!(ask("use crate::ui::auth::AuthValidator;", None), [ui, core]);
    assert_eq!(ask("from ui/auth.rs", None), [ui, core]);
    assert_eq!(ask("", Some("ui/app.rs")), [ui, core]);
    assert_eq!(ask("use crate::core::auth::AuthValidator;", Some("ui/app.rs")), [core, ui]);
    let check = |from| places(&index.query(&Question { symbol: "check", context: "", from }));
    assert_eq!(check(None), ["core/auth.rs:9", "core/door.rs:2"]);
}

/// S0-034, S0-050, S0-128: a file is parsed once until it changes, regardless of the number of
/// questions.
#[test]
fn an_edit_invalidates_an_answer() {
    let tree = tree();
    let pool = tree.pool();
    let index = Index::open(tree.root.path(), &pool);
    let first = asked(&index, "Door");
    let parsed_count = pool.parsed_count();
    assert!(parsed_count > 0, "the first answer was read from the files");
    for _ in 0..10 {
        assert_eq!(asked(&index, "Door"), first);
    }
    assert_eq!(pool.parsed_count(), parsed_count, "the others came from memory");
    tree.write("core/door.rs", "\npub struct Door { pub width: u32 }\n");
    let second = asked(&index, "Door");
    assert_eq!(pool.parsed_count(), parsed_count + 1, "the file that changed is read again");
    assert_ne!(second.matches[0].digest, first.matches[0].digest);
    assert_eq!(places(&second), ["core/door.rs:2"]);
    assert!(second.text.contains("width: u32"), "{}", second.text);
}

/// S0-039, S0-051
#[test]
fn a_missing_name_returns_similar_names() {
    let tree = tree();
    let index = tree.index();
    let answer = asked(&index, "AuthValidater");
    assert!(answer.matches.is_empty());
    assert_eq!(answer.nearest, ["AuthValidator"]);
    assert_eq!(
        answer.text,
        "Symbol 'AuthValidater' not found in workspace symbol tree or active agents.\n\
         Nearest names: AuthValidator\n"
    );
    let answer = asked(&index, "Validator");
    assert_eq!(answer.nearest, ["AuthValidator"]);
    let answer = asked(&index, "xyzzy");
    assert_eq!((answer.nearest.len(), answer.bytes_saved), (0, 0));
    for nothing in ["", " ", "::", "\u{1b}[31m"] {
        assert!(asked(&index, nothing).matches.is_empty(), "{nothing:?}");
    }
    assert!(asked(&index, "Door::nothing").matches.is_empty(), "a type is known, and has none");
}

#[test]
fn the_best_matches_are_shown_and_the_others_counted() {
    let files: Vec<(String, String)> =
        (0..700).map(|it| (format!("d{it}/x.rs"), format!("pub fn new() -> u{it} {{}}"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let tree = Tree::new(&files);
    let index = tree.index();
    let answer = asked(&index, "new");
    assert_eq!((answer.matches.len(), answer.more_count), (5, 695));
    assert!(answer.text.contains("and 695 more of that name"), "{}", answer.text);
    let near = index.query(&Question { symbol: "new", context: "", from: Some("d451") });
    assert_eq!(places(&near)[0], "d451/x.rs:1");
    let hinted = index.query(&Question { symbol: "new", context: "use d77::x::new;", from: None });
    assert_eq!(places(&hinted)[0], "d77/x.rs:1");
    assert_eq!(places(&asked(&index, "d9/x.rs:new")), ["d9/x.rs:1"]);
}

#[test]
fn the_best_of_many_matches_comes_first() {
    let tree = Tree::new(&[]);
    for number in 0..150 {
        let text = "pub fn open() {}\npub struct Gate;\n";
        tree.write(&format!("parts/part-{number}/src/gate_{number}.rs"), text);
    }
    tree.write("parts/part-9/x.ts", "import { open } from '../part-5/open';\n");
    tree.write("parts/part-5/open/index.ts", "export function open() {}\n");
    let index = tree.index();
    let first = |symbol: &str, context: &str, from: Option<&str>| {
        let answer = index.query(&Question { symbol, context, from });
        answer.matches.first().map(|it| it.path.clone()).unwrap_or(answer.text)
    };
    let gate = |number: usize| format!("parts/part-{number}/src/gate_{number}.rs");
    assert_eq!(first("open", "use part_77::gate_77::open;", None), gate(77));
    assert_eq!(first("open", "it is in part_78", None), gate(0), "nothing there is a path");
    assert_eq!(first("open", "it is in parts/part-78", None), gate(78));
    assert_eq!(first("open", "", Some("parts/part-79/src/other.rs")), gate(79));
    assert_eq!(first("open", "", Some(&gate(80))), gate(80));
    assert_eq!(first("part_81::gate_81::open", "", None), gate(81));
    assert_eq!(first("gate_82::Gate", "", Some("parts/part-1/src/other.rs")), gate(82));
    assert_eq!(first("gate_83.rs:open", "", None), gate(83));
    assert_eq!(first("parts/part-84:open", "", None), gate(84));
    assert_eq!(first("open", "", Some("parts/part-9/x.ts")), "parts/part-5/open/index.ts");
    tree.remove(&gate(77));
    assert_ne!(first("open", "use part_77::gate_77::open;", None), gate(77), "it is gone");
}

/// The order does not depend on when files were read or on earlier questions and changes.
#[test]
fn equal_matches_are_ordered_by_path() {
    let tree = Tree::new(&[]);
    let write = |number: usize, text: &str| {
        tree.write(&format!("parts/{number:03}/x.rs"), text);
    };
    for number in (100..300).rev() {
        write(number, "pub fn other() {}\npub fn open() {}\n");
    }
    let index = tree.index();
    let parts = |from: Option<&str>| {
        let question = Question { symbol: "open", from, ..Question::default() };
        let answer = index.query(&question);
        answer.matches.into_iter().map(|it| it.path[6..9].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(parts(None), ["100", "101", "102", "103", "104"]);
    // A file that is read again gets a different number in the index.
    write(101, "pub fn open(again: bool) {}\n");
    write(99, "pub fn open() {}\n");
    index.refresh();
    assert_eq!(parts(None), ["099", "100", "101", "102", "103"]);
    assert_eq!(parts(Some("parts/250/x.rs")), ["250", "099", "100", "101", "102"]);
    assert_eq!(parts(Some("parts/new.rs")), ["099", "100", "101", "102", "103"]);
}

#[test]
fn an_outline_has_a_line_for_each_symbol() {
    let tree = tree();
    let index = tree.index();
    expect![[r#"
        core/auth.rs (rust, 10 lines)
              2-5  pub struct AuthValidator
              9-9    pub fn check(&self, now: u64) -> bool
    "#]]
    .assert_eq(&index.outline("core/auth.rs").unwrap());
    assert_eq!(
        index.outline("notes.txt").unwrap(),
        "notes.txt: no source that can be read, 2 lines, 8 bytes\n"
    );
    let absolute = tree.root.path().join("core/door.rs");
    assert!(index.outline(absolute.to_str().unwrap()).is_some());
    for nothing in ["nothing.rs", "core", "", "../x.rs", "/etc/passwd", "core/../../x"] {
        assert_eq!(index.outline(nothing), None, "{nothing}");
    }
}

#[test]
fn many_threads_can_ask_questions() {
    let tree = tree();
    let index = tree.index();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for symbol in ["Door", "AuthValidator", "check", "nothing_of_it"] {
                    assert_eq!(asked(&index, symbol).matches.is_empty(), symbol == "nothing_of_it");
                }
            });
        }
        for _ in 0..5 {
            index.refresh();
        }
    });
}

#[test]
fn imports_of_every_language_resolve_to_their_file() {
    let tree = Tree::new(&[
        ("core/auth.ts", "export function check(token: string): boolean { return true }\n"),
        ("near/auth.ts", "export function check(): void {}\n"),
        ("near/app.ts", "import { check } from '../core/auth';\nexport const app = 1;\n"),
        ("core/auth.py", "def check(token: str) -> bool:\n    return True\n"),
        ("near/auth.py", "def check():\n    pass\n"),
        ("core/check.go", "package core\n\nfunc Check(token string) bool { return true }\n"),
        ("near/check.go", "package near\n\nfunc Check() {}\n"),
        ("src/com/example/core/Gate.java", "package com.example.core;\npublic class Gate {}\n"),
        ("src/com/example/near/Gate.java", "package com.example.near;\npublic class Gate {}\n"),
        ("core/door.h", "int open_door(int key);\n"),
        ("core/door.c", "#include \"door.h\"\nint open_door(int key) { return key; }\n"),
        ("near/door.c", "int open_door(int key) { return 0; }\n"),
    ]);
    let index = tree.index();
    for (symbol, context, from, place) in [
        ("check", "import { check } from '../core/auth'", "near/app.ts", "core/auth.ts:1"),
        ("check", "", "near/app.ts", "core/auth.ts:1"),
        ("import { check } from '../core/auth'", "", "near/app.ts", "core/auth.ts:1"),
        ("check", "", "near/other.ts", "near/auth.ts:1"),
        ("check", "from core.auth import check", "near/app.py", "core/auth.py:1"),
        ("from core.auth import check", "", "near/app.py", "core/auth.py:1"),
        ("core.Check", "import \"example.com/app/core\"", "near/app.go", "core/check.go:3"),
        (
            "Gate",
            "import com.example.core.Gate;",
            "src/com/example/near/App.java",
            "src/com/example/core/Gate.java:2",
        ),
        ("open_door", "#include \"core/door.h\"", "near/main.c", "core/door.c:2"),
    ] {
        let answer = index.query(&Question { symbol, context, from: Some(from) });
        let first = places(&answer).into_iter().next().unwrap_or_default();
        assert_eq!(first, place, "{symbol} {context} {from}: {}", answer.text);
    }
}

#[test]
fn a_file_name_cannot_imitate_an_answer() {
    let path = "a\nstruct Forged (core\u{1b}[31m.rs";
    let tree = Tree::new(&[(path, "pub fn gate() {}\n")]);
    let index = tree.index();
    let text = asked(&index, "gate").text;
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_eq!(index.outline(path).unwrap().lines().count(), 2);
}
