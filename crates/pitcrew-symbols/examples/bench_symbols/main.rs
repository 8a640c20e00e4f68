//! Compares the index of real sources with bare tree-sitter and with universal-ctags in one run.
//!
//! The trees are built from the sources that cargo has downloaded. Arguments are their sizes in
//! files. Prints one line of JSON for each tree. The program runs itself again for measurements
//! that need a new process.

mod trees;
mod bare;
mod asked;
mod helpers;

use helpers::Helpers;
use pitcrew_symbols::{Index, Pool, Question, serve};
use std::{
    env,
    error::Error,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use trees::{Source, Tree};

/// The third size has about a million symbols.
const SIZES: &[usize] = &[100, 3_000, 17_000, 60_000];
/// Rounds of parsing all files, alternating. Large trees are measured only once.
const ROUNDS: usize = 3;
const ROUND_FILES_MAX: usize = 5_000;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [word, root, pool, symbol] = &arguments[..]
        && word == "warm"
    {
        return start_warm(Path::new(root), Path::new(pool), symbol);
    }
    if arguments == ["parser"] {
        return Ok(serve(io::stdin(), io::stdout(), || Ok(()))?);
    }
    let given: Vec<usize> = arguments.iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
    let sources = trees::sources()?;
    for count in if given.is_empty() { SIZES } else { &given[..] } {
        println!("{}", measure(&sources, *count)?);
    }
    Ok(())
}

fn measure(sources: &[Source], count: usize) -> Outcome<String> {
    let tree = Tree::new(sources, count)?;
    let kept = tempfile::tempdir()?;
    let rounds = if count > ROUND_FILES_MAX { 1 } else { ROUNDS };
    let (mut bare, mut cold) = (Vec::new(), Vec::new());
    let (mut bare_work, mut cold_work) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let before = worked()?;
        bare.push(bare::parse_all(&tree)?);
        let between = worked()?;
        cold.push(index_cold(&tree, &kept.path().join(round.to_string()))?);
        bare_work.push(between.saturating_sub(before));
        cold_work.push(worked()?.saturating_sub(between));
    }
    let (bare, cold) = (median(bare), median(cold));
    let (bare_work, cold_work) = (median(bare_work), median(cold_work));
    let pool = kept.path().join("0");
    let first_answer = asked::first_answer(&tree, kept.path())?;
    let ctags = run_ctags(&tree)?;
    let warm = warm_in_a_new_process(&tree, &pool)?;
    let index = Index::open(&tree.root, &Arc::new(Pool::open(&pool, Helpers::start()?)));
    index.refresh();
    let lookups = asked::lookups(&index, &tree)?;
    let update = asked::updates(&index, &tree)?;
    let symbols_count = index.size().symbols_count;
    let mb = f64::from(u32::try_from(tree.bytes / 1_000)?) / 1e3;
    let compared = ctags.map_or("\"no ctags here\"".into(), |it| {
        format!("{:.0},\"warm_ratio\":{:.1}", ms(it), it.as_secs_f64() / warm.took.as_secs_f64())
    });
    Ok(format!(
        r#"{{"files":{count},"source_mb":{mb:.1},"symbols":{symbols_count},"bare_mb_per_s":{:.1},"cold_mb_per_s":{:.1},"cold_ratio":{:.2},"cold_cpu_ratio":{:.2},"first_answer_ms":{:.0},"warm_ms":{:.1},"ctags_ms":{compared},"update_ms":{:.1},"lookup_p50_us":{:.0},"lookup_p99_us":{:.0},"hinted_p99_us":{:.0},"miss_p99_us":{:.0},"bytes_per_symbol":{}}}"#,
        mb / bare.as_secs_f64(),
        mb / cold.as_secs_f64(),
        bare.as_secs_f64() / cold.as_secs_f64(),
        bare_work.as_secs_f64() / cold_work.as_secs_f64(),
        ms(first_answer),
        ms(warm.took),
        ms(update),
        lookups.hit_p50.as_secs_f64() * 1e6,
        lookups.hit_p99.as_secs_f64() * 1e6,
        lookups.hinted_p99.as_secs_f64() * 1e6,
        lookups.miss_p99.as_secs_f64() * 1e6,
        warm.bytes / symbols_count.max(1) as u64,
    ))
}

/// Measures the time from an empty index until every file is read and cached.
fn index_cold(tree: &Tree, pool: &Path) -> Outcome<Duration> {
    let began = Instant::now();
    let index = Index::open(&tree.root, &Arc::new(Pool::open(pool, Helpers::start()?)));
    index.settle();
    let size = index.size();
    drop(index);
    let took = began.elapsed();
    if size.files_count != tree.files.len() {
        return Err(format!("{} of {} files", size.files_count, tree.files.len()).into());
    }
    Ok(took)
}

struct Warm {
    took: Duration,
    /// The growth of the process.
    bytes: u64,
}

fn start_warm(root: &Path, pool: &Path, symbol: &str) -> Outcome<()> {
    let before = resident_bytes()?;
    let began = Instant::now();
    let pool = Arc::new(Pool::open(pool, Helpers::start()?));
    let index = Index::open(root, &pool);
    let answer = index.query(&Question { symbol, ..Question::default() });
    let took = began.elapsed();
    let parsed_count = pool.parsed_count();
    if parsed_count > 0 || answer.matches.is_empty() {
        return Err(format!("{parsed_count} files were parsed: {}", answer.text).into());
    }
    println!("{} {}", took.as_nanos(), resident_bytes()?.saturating_sub(before));
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
fn warm_in_a_new_process(tree: &Tree, pool: &Path) -> Outcome<Warm> {
    let symbol = asked::names(tree, 1)?.pop().ok_or("the tree defines nothing")?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut command = Command::new(env::current_exe()?);
        let output = command
            .arg("warm")
            .arg(&tree.root)
            .arg(pool)
            .arg(&symbol)
            .stderr(Stdio::inherit())
            .output()?;
        let printed = String::from_utf8(output.stdout)?;
        let (took, bytes) = printed.trim().split_once(' ').ok_or("the warm start failed")?;
        rounds.push((Duration::from_nanos(took.parse()?), bytes.parse()?));
    }
    rounds.sort_unstable();
    let (took, bytes) = rounds[ROUNDS / 2];
    Ok(Warm { took, bytes })
}

/// Returns `None` if ctags is not installed.
#[expect(clippy::disallowed_methods, reason = "a bench starts what it compares with")]
fn run_ctags(tree: &Tree) -> Outcome<Option<Duration>> {
    let mut rounds = Vec::new();
    for _ in 0..if tree.files.len() > ROUND_FILES_MAX { 1 } else { ROUNDS } {
        let tags = tempfile::NamedTempFile::new()?;
        let mut command = Command::new("ctags");
        command.args(["--recurse", "--quiet", "-f"]).arg(tags.path()).arg(&tree.root);
        let began = Instant::now();
        match command.stderr(Stdio::null()).status() {
            Ok(status) if status.success() => rounds.push(began.elapsed()),
            Ok(status) => return Err(format!("ctags ended with {status}").into()),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(median(rounds)))
}

/// The CPU time of this process and of its children that have exited.
fn worked() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no name")?;
    let times = fields.split(' ').skip(11).take(4).map(str::parse);
    let ticks: u64 = times.collect::<Result<Vec<u64>, _>>()?.iter().sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn resident_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kb: u64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
    Ok(kb * 1024)
}

pub fn median(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    values[values.len() / 2]
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The folder in which cargo keeps downloaded sources.
pub fn fetched() -> Outcome<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let default = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let home = home.or_else(default).ok_or("neither CARGO_HOME nor HOME is set")?;
    Ok(home.join("registry/src"))
}
