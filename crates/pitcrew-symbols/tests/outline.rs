//! The symbols of a realistic source of each language, one per line.

use expect_test::expect_file;
use pitcrew_symbols::{FileSymbols, Import, Language, Member, Symbol, Visibility, extract};
use std::path::Path;

/// Compares the symbols of `sources/NAME` with `sources/NAME.outline`.
fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources");
    let source = std::fs::read(folder.join(name)).expect("the source is there");
    let language = Language::of(Path::new(name)).expect("the language is known");
    let found = extract(language, &source);
    expect_file![folder.join(format!("{name}.outline"))].assert_eq(&outline(&found));
    assert!(!found.broken, "{name} is not understood");
}

#[test]
fn rust_is_read() {
    check("auth.rs");
}

#[test]
fn typescript_is_read() {
    check("auth.ts");
}

#[test]
fn tsx_is_read() {
    check("view.tsx");
}

#[test]
fn javascript_is_read() {
    check("server.js");
}

#[test]
fn python_is_read() {
    check("auth.py");
}

#[test]
fn go_is_read() {
    check("auth.go");
}

#[test]
fn java_is_read() {
    check("AuthValidator.java");
}

#[test]
fn c_is_read() {
    check("auth.c");
}

#[test]
fn cpp_is_read() {
    check("auth.cpp");
}

#[test]
fn csharp_is_read() {
    check("AuthValidator.cs");
}

#[test]
fn ruby_is_read() {
    check("auth.rb");
}

#[test]
fn php_is_read() {
    check("AuthValidator.php");
}

#[test]
fn bash_is_read() {
    check("deploy.sh");
}

#[test]
fn kotlin_is_read() {
    check("Auth.kt");
}

#[test]
fn lua_is_read() {
    check("auth.lua");
}

#[test]
fn zig_is_read() {
    check("auth.zig");
}

#[test]
fn swift_is_read() {
    check("Auth.swift");
}

#[test]
fn scala_is_read() {
    check("Auth.scala");
}

/// `lines kind name in container: signature { members } // doc`, with `+` for public, `~` for
/// restricted and `-` for private.
fn outline(found: &FileSymbols) -> String {
    let imports = found.imports.iter().map(import);
    let lines: Vec<String> = imports.chain(found.symbols.iter().map(symbol)).collect();
    lines.join("\n") + "\n"
}

fn symbol(it: &Symbol) -> String {
    let mark = match it.visibility {
        Visibility::Public => '+',
        Visibility::Restricted => '~',
        Visibility::Private => '-',
    };
    let member = |it: &Member| format!("{} {}", it.kind.word(), it.text);
    let members: Vec<String> = it.members.iter().map(member).collect();
    let members = match members.as_slice() {
        [] => String::new(),
        some => format!(" {{ {} }}", some.join("; ")),
    };
    let doc = it.doc.as_ref().map(|it| format!(" // {it}")).unwrap_or_default();
    let ((first, last), kind, name) = (it.lines, it.kind.word(), it.qualified());
    format!("{first}-{last} {mark} {kind} {name}: {}{members}{doc}", it.signature)
}

fn import(it: &Import) -> String {
    let aliases: Vec<String> = it.aliases.iter().map(|(a, b)| format!("{a} as {b}")).collect();
    let names = [it.names.join(", "), aliases.join(", ")].join("; ");
    format!("{} import {} [{}]", it.line, it.module, names.trim_end_matches("; "))
}
