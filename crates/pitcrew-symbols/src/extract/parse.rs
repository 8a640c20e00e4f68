//! Parses with limits on time and stack.
//!
//! Tree-sitter frees abandoned attempts recursively, one call for each open token, so thousands of
//! brackets need more stack than a thread has. Large files are therefore parsed on a stack in
//! proportion to their size. To parse many files, call [`on_large_stack`] once.

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

/// The maximum stack for each byte of source, in any build.
const STACK_BYTES_PER_BYTE: usize = 160;
/// The stack that all other code needs.
const STACK_BYTES_BASE: usize = 512 << 10;
/// For files up to this size, the stack of any thread is sufficient.
const SMALL_BYTES_MAX: usize = 8 << 10;
/// The time is checked after this number of steps, each of about a hundred tokens. This takes about
/// a millisecond.
const STEPS_PER_LOOK: u32 = 32;

/// Memory for the trees of most files, in pieces small enough that the allocator does not map each
/// of them separately.
const PIECES: usize = 64;
const PIECE_BYTES: usize = 120 << 10;

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    static HAS_LARGE_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread whose stack is sufficient for every file that is read.
///
/// The system provides memory only for the used part of a stack. If the thread cannot be started,
/// each large file gets a separate stack.
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

/// Allocates the memory for trees at once.
///
/// Otherwise the allocator grows the memory of a thread page by page, thousands of times until the
/// first trees exist. Memory that was allocated once is reused.
fn widen() {
    let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| Vec::with_capacity(PIECE_BYTES)).collect();
    std::hint::black_box(&pieces);
}

/// Runs `work` with a stack for a file of this size. Returns `None` if there is no memory for it.
fn run<T: Send>(bytes_count: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    let stack_bytes = STACK_BYTES_BASE + STACK_BYTES_PER_BYTE * bytes_count;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(stack_bytes).spawn_scoped(scope, work);
        let done = thread.ok()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Parses with the parser of this thread. Gives up after `time_max`.
pub fn parse(language: Language, source: &[u8], time_max: Duration) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar()).ok()?;
        if HAS_LARGE_STACK.get() || source.len() <= SMALL_BYTES_MAX {
            return parse_here(parser, source, time_max);
        }
        run(source.len(), || parse_here(parser, source, time_max)).flatten()
    })
}

/// The CPU time of this thread.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn parse_here(parser: &mut Parser, source: &[u8], time_max: Duration) -> Option<Tree> {
    // CPU time, because a file is not slow just because the machine is busy. The wall clock is
    // checked first because that is cheaper.
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
    // Otherwise the parser would continue with this file when given the next one, and its abandoned
    // attempts might be freed on a thread with less stack.
    parser.reset();
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_continues_after_a_timeout() {
        let slow = "fn f() { g(1, 2) }\n".repeat(5_000);
        assert!(parse(Language::Rust, slow.as_bytes(), Duration::ZERO).is_none());
        let next = parse(Language::Rust, b"struct A;", Duration::from_secs(10));
        assert_eq!(
            next.map(|it| it.root_node().to_sexp()).as_deref(),
            Some("(source_file (struct_item name: (type_identifier)))")
        );
    }

    #[test]
    fn a_large_stack_suffices_if_a_thread_overflows() {
        let deep = "{[".repeat(50_000);
        let parse = || parse(Language::Go, deep.as_bytes(), Duration::from_mins(1)).is_some();
        assert!(on_large_stack(parse));
        assert!(parse());
    }
}
