//! Draws frames as an SVG that CSS animates: no script, in light and dark, and still where the reader
//! asked for less motion.

use super::{
    Frame,
    screen::{Line, Size, Style},
};
use std::{collections::BTreeMap, fmt::Write, ops::Range};

const COLUMN: f64 = 7.23;
const ROW: usize = 16;
/// Below the top of a row. Descenders end with the row.
const BASELINE: usize = 12;
const MARGIN: usize = 12;
/// How long the last frame is shown.
const END_MS: u64 = 6_000;

const STYLE: &str = "\
svg{--b:#fff;--f:#1f2328;--e:#d0d7de;--1:#cf222e;--2:#116329;--3:#8a5a00;--4:#0969da;--5:#8250df;--6:#1b7c83;--7:#57606a}
@media (prefers-color-scheme:dark){svg{--b:#0d1117;--f:#e6edf3;--e:#30363d;--1:#ff7b72;--2:#3fb950;--3:#d29922;--4:#58a6ff;--5:#bc8cff;--6:#39c5cf;--7:#8b949e}}
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--f);white-space:pre}
.b{font-weight:bold}.d{opacity:.65}
.c1{fill:var(--1)}.c2{fill:var(--2)}.c3{fill:var(--3)}.c4{fill:var(--4)}.c5{fill:var(--5)}.c6{fill:var(--6)}.c7{fill:var(--7)}
.x{visibility:hidden}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
";

/// The frames in which a line is visible, with its place.
struct Shown<'a> {
    row: usize,
    line: &'a Line,
    frames: Range<usize>,
}

pub fn draw(frames: &[Frame], size: Size) -> String {
    let end_ms = frames.last().map_or(0, |it| it.at_ms) + END_MS;
    let percent = |frame: usize| match frames.get(frame) {
        Some(_) if frame == 0 => 0.0,
        #[expect(clippy::cast_precision_loss, reason = "a demo ends within an age")]
        Some(frame) => frame.at_ms as f64 * 100.0 / end_ms as f64,
        None => 100.0,
    };
    let shown = visible(frames);
    let mut classes: BTreeMap<(usize, usize), String> = BTreeMap::new();
    let mut style = STYLE.to_owned();
    let mut body = String::new();
    for it in &shown {
        let Range { start, end } = it.frames;
        let number = classes.len();
        let class = classes.entry((start, end)).or_insert_with(|| {
            let name = format!("k{number}");
            style.push_str(&animation(&name, percent(start), percent(end), end_ms));
            name
        });
        // Without animation, only the last frame is visible.
        let still = if end == frames.len() { "" } else { " x" };
        let y = it.row * ROW + BASELINE;
        let _ = writeln!(body, "<text y='{y}' class='{class}{still}'>{}</text>", spans(it.line));
    }
    style.push_str(&scrolling(frames, percent, end_ms));
    page(size, &style, &body)
}

fn page(size: Size, style: &str, body: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a screen has few columns")]
    let inner_width = (size.columns as f64 * COLUMN).ceil();
    let (inner_height, margin) = (size.rows * ROW, MARGIN);
    let (width, height) = (inner_width + 24.0, inner_height + 2 * MARGIN);
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' role='img'>\n\
         <title>A recording of pitcrew demo</title>\n<style>\n{style}</style>\n\
         <rect x='.5' y='.5' width='{}' height='{}' rx='8' style='fill:var(--b);stroke:var(--e)'/>\n\
         <svg x='{margin}' y='{margin}' width='{inner_width}' height='{inner_height}'>\n<g class='s'>\n{body}</g>\n</svg>\n</svg>\n",
        width - 1.0,
        height - 1
    )
}

/// Every line, with the frames in which it stays the same.
fn visible(frames: &[Frame]) -> Vec<Shown<'_>> {
    let rows = frames.iter().map(|it| it.screen.lines.len()).max().unwrap_or_default();
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for row in 0..rows {
        for (index, frame) in frames.iter().enumerate() {
            let Some(line) = frame.screen.lines.get(row).filter(|it| !it.is_empty()) else {
                continue;
            };
            match shown.last_mut() {
                Some(it) if it.row == row && it.frames.end == index && it.line == line => {
                    it.frames.end = index + 1;
                }
                Some(_) | None => shown.push(Shown { row, line, frames: index..index + 1 }),
            }
        }
    }
    shown
}

fn animation(name: &str, from: f64, to: f64, end_ms: u64) -> String {
    let mut steps = String::new();
    if from > 0.0 {
        let _ = write!(steps, "0%{{visibility:hidden}}");
    }
    let _ = write!(steps, "{from:.2}%{{visibility:visible}}");
    if to < 100.0 {
        let _ = write!(steps, "{to:.2}%,to{{visibility:hidden}}");
    } else {
        steps.push_str("to{visibility:visible}");
    }
    format!(
        "@keyframes {name}{{{steps}}}.{name}{{animation:{name} {end_ms}ms step-end infinite}}\n"
    )
}

fn scrolling(frames: &[Frame], percent: impl Fn(usize) -> f64, end_ms: u64) -> String {
    let mut steps = String::new();
    let mut above = None;
    for (index, frame) in frames.iter().enumerate() {
        if above != Some(frame.screen.above) {
            above = Some(frame.screen.above);
            let up = frame.screen.above * ROW;
            let _ = write!(steps, "{:.2}%{{transform:translateY(-{up}px)}}", percent(index));
        }
    }
    let up = above.unwrap_or_default() * ROW;
    format!(
        "@keyframes s{{{steps}to{{transform:translateY(-{up}px)}}}}\
         .s{{transform:translateY(-{up}px);animation:s {end_ms}ms step-end infinite}}\n"
    )
}

fn spans(line: &Line) -> String {
    let mut text = String::new();
    for run in line.chunk_by(|a, b| a.1 == b.1) {
        let words: String = run.iter().map(|it| it.0).collect();
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        let style = run[0].1;
        if style == Style::default() || words.trim().is_empty() {
            text.push_str(&words);
        } else {
            let _ = write!(text, "<tspan class='{}'>{words}</tspan>", class(style));
        }
    }
    text.trim_end().to_owned()
}

fn class(style: Style) -> String {
    let colour = style.colour.map(|it| format!("c{it}"));
    let bold = style.bold.then(|| "b".to_owned());
    let dim = style.dim.then(|| "d".to_owned());
    [bold, dim, colour].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::screen::Screen;

    fn frames(parts: &[(u64, &str)]) -> Vec<Frame> {
        let mut screen = Screen::new(Size { columns: 20, rows: 2 });
        let mut frame = |(at_ms, text): &(u64, &str)| {
            screen.write(text.as_bytes()).expect("it can be drawn");
            Frame { at_ms: *at_ms, screen: screen.clone() }
        };
        parts.iter().map(&mut frame).collect()
    }

    #[test]
    fn a_line_is_drawn_once_and_visible_while_it_stays() {
        let frames =
            frames(&[(0, "a < b\r\n\x1b[1;31mone\x1b[0m"), (2_000, "\r\x1b[0Jtwo"), (4_000, "!")]);
        let picture = draw(&frames, Size { columns: 20, rows: 2 });
        assert_eq!(picture.matches("a &lt; b").count(), 1);
        assert!(picture.contains("<tspan class='b c1'>one</tspan>"), "{picture}");
        // The end is shown for 6 s after the last frame, at 4 s.
        assert!(picture.contains("0.00%{visibility:visible}20.00%,to{visibility:hidden}"));
        assert!(
            picture.contains("0%{visibility:hidden}40.00%{visibility:visible}to{"),
            "{picture}"
        );
    }

    #[test]
    fn without_animation_the_end_is_visible() {
        let frames = frames(&[(0, "a\r\nb"), (1_000, "\r\nc\r\n")]);
        let picture = draw(&frames, Size { columns: 20, rows: 2 });
        assert!(picture.contains(".s{transform:translateY(-32px)"), "{picture}");
        let hidden = picture.lines().filter(|it| it.starts_with("<text") && it.contains(" x'"));
        assert_eq!(hidden.count(), 0, "{picture}");
        assert!(picture.contains("prefers-reduced-motion"));
    }
}
