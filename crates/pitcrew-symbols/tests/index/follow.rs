//! The next question after an edit uses the new content.

use super::*;

#[test]
fn an_answer_reflects_the_edited_file() {
    let tree = Tree::new(&[("a.rs", "pub fn gate() {}\n"), ("b.rs", "pub fn other() {}\n")]);
    let index = tree.index();
    assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"]);
    tree.write("a.rs", "\n\npub fn gate(key: &str) {}\n");
    let answer = asked(&index, "gate");
    assert_eq!(places(&answer), ["a.rs:3"]);
    assert!(answer.text.contains("pub fn gate(key: &str)"), "{}", answer.text);
    tree.write("a.rs", "pub fn door() {}\n");
    assert!(asked(&index, "gate").matches.is_empty());
    assert_eq!(places(&asked(&index, "door")), ["a.rs:1"]);
    tree.write("new/c.rs", "pub fn gate() {}\n");
    assert_eq!(places(&asked(&index, "gate")), ["new/c.rs:1"]);
    tree.remove("new/c.rs");
    assert!(asked(&index, "gate").matches.is_empty());
}

/// File times are coarse, so a change right after a walk may not alter them.
#[test]
fn an_edit_of_the_same_size_in_the_same_instant_is_detected() {
    let tree = Tree::new(&[("a.rs", "fn gate_00() {}\n")]);
    let index = tree.index();
    for number in 0..60 {
        let symbol = format!("gate_{number:02}");
        tree.write("a.rs", &format!("fn {symbol}() {{}}\n"));
        index.refresh();
        let found = index.lookup(&Question { symbol: &symbol, ..Question::default() });
        assert_eq!(places(&found), ["a.rs:1"], "{symbol}");
    }
    let last = asked(&index, "gate_59");
    tree.write("a.rs", "fn gate_5x() {}\n");
    assert_eq!(last.matches.len(), 1);
    assert!(asked(&index, "gate_59").matches.is_empty());
}

#[test]
fn only_changed_files_are_parsed_again() {
    let tree = Tree::new(&[("a.rs", "fn a() {}"), ("b.rs", "fn b() {}"), ("c.rs", "fn c() {}")]);
    let pool = tree.pool();
    let index = Index::open(tree.root.path(), &pool);
    index.refresh();
    assert_eq!(pool.parsed_count(), 3);
    tree.write("b.rs", "fn changed() {}");
    index.refresh();
    assert_eq!(pool.parsed_count(), 4);
    tree.write("c.rs", "fn changed_too() {}");
    index.refresh_paths(["c.rs"]);
    assert_eq!(pool.parsed_count(), 5);
    assert_eq!(
        places(&index.lookup(&Question { symbol: "changed_too", ..Question::default() })),
        ["c.rs:1"]
    );
}

#[test]
fn a_moved_file_is_found_at_its_new_path() {
    let tree = Tree::new(&[("a.rs", "fn gate() {}")]);
    let index = tree.index();
    assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"]);
    fs::create_dir(tree.root.path().join("b")).unwrap();
    fs::rename(tree.root.path().join("a.rs"), tree.root.path().join("b/c.rs")).unwrap();
    assert_eq!(places(&asked(&index, "gate")), ["b/c.rs:1"]);
}

#[test]
fn a_broken_file_does_not_affect_others() {
    let garbage = "fn half( {{{ struct \u{0}\u{1} \"".repeat(50);
    let tree =
        Tree::new(&[("bad.rs", &garbage), ("good.rs", "pub fn gate() {}"), ("empty.rs", "")]);
    fs::write(tree.root.path().join("binary.rs"), [0xff, 0, 0xfe, 1]).unwrap();
    let index = tree.index();
    assert_eq!(places(&asked(&index, "gate")), ["good.rs:1"]);
    assert_eq!(index.size().files_count, 4);
}

#[test]
fn a_removed_checkout_is_empty() {
    let tree = Tree::new(&[("a.rs", "fn gate() {}")]);
    let index = tree.index();
    assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"]);
    fs::remove_dir_all(tree.root.path()).unwrap();
    assert!(asked(&index, "gate").matches.is_empty());
    assert_eq!(index.outline("a.rs"), None);
}

#[test]
fn many_changes_give_the_same_result_as_a_new_index() {
    let tree = Tree::new(&[]);
    let index = tree.index();
    for round in 0..30 {
        for number in 0..8 {
            let path = format!("{number}.rs");
            match (round + number) % 3 {
                0 => tree.write(&path, &format!("fn f{round}() {{}} fn g{number}() {{}}")),
                1 => drop(fs::remove_file(tree.root.path().join(path))),
                _ => {}
            }
        }
        index.refresh();
    }
    let fresh = Index::open(
        tree.root.path(),
        &Arc::new(Pool::open(&tree.kept.path().join("other"), Arc::new(InProcess))),
    );
    fresh.refresh();
    assert_eq!(index.size().symbols_count, fresh.size().symbols_count);
    for symbol in ["f29", "f28", "f27", "g0", "g1", "g2", "g7"] {
        assert_eq!(asked(&index, symbol), asked(&fresh, symbol), "{symbol}");
    }
}
