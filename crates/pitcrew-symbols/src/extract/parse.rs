//! Parses with limits on time and stack.
//!
//! Tree-sitter frees abandoned attempts recursively, one call for each open token: thousands of
//! brackets need more stack than a thread has. Large files are therefore parsed on a stack in
//! proportion to their size. Call [`on_large_stack`] once to parse many files.

use super::FILE_BYTES_MAX;
use crate::Language;
use rustix::time::{ClockId, clock_gettime};
use std::{
    cell::{Cell, RefCell},
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// No call of that function takes more, in any build.
const STACK_BYTES_PER_BYTE: usize = 160;
/// What is needed besides.
const STACK_BYTES_BASE: usize = 512 << 10;
/// Up to here the stack suffices that any thread has.
const SMALL_BYTES_MAX: usize = 8 << 10;
/// The clock is looked at after so many steps, each of a hundred tokens or so: that is a
/// millisecond.
const STEPS_PER_LOOK: u32 = 32;

/// Memory for the trees of most files, in pieces that are not larger than what an allocator takes
/// from what it has.
const PIECES: usize = 64;
const PIECE_BYTES: usize = 120 << 10;

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    static HAS_LARGE_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a stack that suffices for every file that is read.
///
/// A stack is memory only as far as it is used. Where there is none for it, each large file asks
/// for a stack of its own.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut work = Some(work);
    let begin = || {
        HAS_LARGE_STACK.set(true);
        widen();
        work.take().map(|it| it())
    };
    let done = run(FILE_BYTES_MAX, begin).flatten();
    done.or_else(|| work.map(|it| it())).expect("the work is done there or here")
}

/// Makes room for trees at once.
///
/// The allocator asks the kernel for the memory of a thread page by page as it is needed, thousands
/// of times until the first trees are there; what it has asked for once it may use from then on.
fn widen() {
    let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| Vec::with_capacity(PIECE_BYTES)).collect();
    std::hint::black_box(&pieces);
}

/// Runs `work` where there is stack for a file of this size, unless there is no memory for it.
fn run<T: Send>(bytes_count: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    let stack_bytes = STACK_BYTES_BASE + STACK_BYTES_PER_BYTE * bytes_count;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(stack_bytes).spawn_scoped(scope, work);
        let done = thread.ok()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Parses with the parser of this thread, and gives up when the time is over.
pub fn parse(language: Language, source: &[u8], time_max: Duration) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar()).ok()?;
        if HAS_LARGE_STACK.get() || source.len() <= SMALL_BYTES_MAX {
            return parse_here(parser, source, time_max);
        }
        run(source.len(), || parse_here(parser, source, time_max)).flatten()
    })
}

/// How long this thread has worked.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn parse_here(parser: &mut Parser, source: &[u8], time_max: Duration) -> Option<Tree> {
    // A busy machine makes no file a slow one; but the time of day is asked for more cheaply.
    let (began, worked_before) = (Instant::now(), worked());
    let mut steps_count: u32 = 0;
    let mut progress = |_: &ParseState| {
        steps_count = steps_count.wrapping_add(1);
        let over = steps_count.is_multiple_of(STEPS_PER_LOOK)
            && began.elapsed() > time_max
            && worked() > worked_before + time_max;
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| source.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    // Else the next file would be taken for the rest of this one; and what was tried here must not
    // be given up where there is less stack.
    parser.reset();
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_takes_too_long_is_given_up_and_the_next_is_read() {
        let slow = "fn f() { g(1, 2) }\n".repeat(5_000);
        assert!(parse(Language::Rust, slow.as_bytes(), Duration::ZERO).is_none());
        let next = parse(Language::Rust, b"struct A;", Duration::from_secs(10));
        assert_eq!(
            next.map(|it| it.root_node().to_sexp()).as_deref(),
            Some("(source_file (struct_item name: (type_identifier)))")
        );
    }

    #[test]
    fn a_large_stack_takes_what_a_thread_cannot() {
        let deep = "{[".repeat(50_000);
        let parse = || parse(Language::Go, deep.as_bytes(), Duration::from_mins(1)).is_some();
        assert!(on_large_stack(parse));
        assert!(parse());
    }
}
