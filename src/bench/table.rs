//! A report as text: for people, as Markdown, and as CSV.

use std::fmt::{self, Display, Write};

use super::{Contender, Report, Row, Settings};
use crate::clean::clean;
use crate::measure::Costs;

/// Sizes of a pass that fit on a line; `speck measure` shows all of them.
const SIZES: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 32];

const LEGEND: &str = "\
speed: times plain's tok/s in the same run, the median; t/pass: tokens per pass;
acc.: share of the drafted tokens accepted; draft, verify, other: ms per pass
";

/// The report for people, 80 columns wide.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let _ = write_text(report, &mut out);
    out
}

fn write_text(report: &Report, out: &mut String) -> fmt::Result {
    writeln!(out, "{}\n", Head(report))?;
    let names = [
        "", "tok/s", "min", "max", "speed", "t/pass", "acc.", "draft", "verify", "other",
    ];
    write_line(out, names.map(str::to_owned))?;
    for prompt in prompts(report) {
        writeln!(out, "{}", clean(prompt))?;
        for row in of_prompt(report, prompt) {
            write_line(
                out,
                [
                    row.contender().to_string(),
                    Rate(row.tok_s, 1).to_string(),
                    Rate(row.tok_s_min, 1).to_string(),
                    Rate(row.tok_s_max, 1).to_string(),
                    Factor(row.speedup).to_string(),
                    Rate(row.tokens_per_pass, 2).to_string(),
                    Share(row.acceptance).to_string(),
                    Rate(row.draft_ms, 1).to_string(),
                    Rate(row.verify_ms, 1).to_string(),
                    Rate(row.other_ms, 1).to_string(),
                ],
            )?;
        }
    }
    writeln!(out, "{LEGEND}")?;
    writeln!(out, "{}", Identity(&report.runs))?;

    let costs = &report.cost;
    writeln!(out, "{}\n", Alone(costs))?;
    let one = costs.target.verify_ms[&1];
    let sizes: Vec<_> = SIZES
        .iter()
        .filter_map(|size| costs.target.verify_ms.get_key_value(size))
        .collect();
    write!(out, "{:24}", "tokens checked in a pass")?;
    sizes
        .iter()
        .try_for_each(|(size, _)| write!(out, "{size:>7}"))?;
    write!(out, "\n{:24}", "ms")?;
    sizes
        .iter()
        .try_for_each(|(_, ms)| write!(out, "{ms:>7.1}"))?;
    write!(out, "\n{:24}", "passes of one token")?;
    sizes
        .iter()
        .try_for_each(|(_, ms)| write!(out, "{:>7.2}", *ms / one))?;
    writeln!(out)
}

/// A line of the table, 80 columns wide.
fn write_line(out: &mut String, cells: [String; 10]) -> fmt::Result {
    let [
        strategy,
        tok_s,
        min,
        max,
        speed,
        per_pass,
        accepted,
        draft,
        verify,
        other,
    ] = cells;
    writeln!(
        out,
        " {strategy:19} {tok_s:>6} {min:>6} {max:>6} {speed:>6} {per_pass:>6} {accepted:>5} {draft:>5} \
         {verify:>6} {other:>5}"
    )
}

/// The report as Markdown: a table of speeds with a line for each prompt, one of everything, and one of
/// costs.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = write_markdown(report, &mut out);
    out
}

fn write_markdown(report: &Report, out: &mut String) -> fmt::Result {
    let Settings {
        tokens, sampling, ..
    } = &report.settings;
    writeln!(out, "{}\n", Cell(&Head(report).to_string()))?;
    let contenders = contenders(report);
    write!(out, "| prompt ({tokens} tokens, {sampling}) |")?;
    for contender in &contenders {
        if contender.is_plain() {
            write!(out, " plain |")?;
        } else {
            write!(out, " {contender} | tokens/pass |")?;
        }
    }
    let columns = 1 + contenders
        .iter()
        .map(|contender| if contender.is_plain() { 1 } else { 2 })
        .sum::<usize>();
    writeln!(out, "\n|{}", "---|".repeat(columns))?;
    for prompt in prompts(report) {
        write!(out, "| {} |", Cell(prompt))?;
        for contender in &contenders {
            let row = of_prompt(report, prompt).find(|row| row.contender() == *contender);
            let tok_s = Rate(row.and_then(|row| row.tok_s), 1);
            if contender.is_plain() {
                write!(out, " {tok_s} tok/s |")?;
            } else {
                let speedup = Factor(row.and_then(|row| row.speedup));
                let tokens_per_pass = Rate(row.and_then(|row| row.tokens_per_pass), 2);
                write!(out, " {tok_s} ({speedup}) | {tokens_per_pass} |")?;
            }
        }
        writeln!(out)?;
    }

    writeln!(
        out,
        "\n| prompt | strategy | tok/s (min to max) | speed-up | tokens/pass | accepted | draft ms | \
         verify ms | other ms | plain's text |\n|{}",
        "---|".repeat(10)
    )?;
    for row in &report.runs {
        writeln!(
            out,
            "| {} | {} | {} ({} to {}) | {} | {} | {} | {} | {} | {} | {} |",
            Cell(&row.prompt),
            row.contender(),
            Rate(row.tok_s, 1),
            Rate(row.tok_s_min, 1),
            Rate(row.tok_s_max, 1),
            Factor(row.speedup),
            Rate(row.tokens_per_pass, 2),
            Share(row.acceptance),
            Rate(row.draft_ms, 2),
            Rate(row.verify_ms, 2),
            Rate(row.other_ms, 2),
            match row.identical {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "—",
            },
        )?;
    }

    let costs = &report.cost;
    let one = costs.target.verify_ms[&1];
    writeln!(out, "\n{}\n", Cell(&Alone(costs).to_string()))?;
    writeln!(
        out,
        "| tokens checked in a pass | ms | passes of one token |\n|---|---|---|"
    )?;
    for (size, ms) in &costs.target.verify_ms {
        writeln!(out, "| {size} | {ms:.2} | {:.2} |", ms / one)?;
    }
    Ok(())
}

/// The rows as CSV, with the names that the JSON has; what is unknown is empty.
pub fn csv(report: &Report) -> String {
    let mut out = String::from(
        "prompt,strategy,draft_length,tokens,passes,tokens_per_pass,acceptance,decode_ms,tok_s,tok_s_min,\
         tok_s_max,draft_ms,verify_ms,other_ms,speedup,identical\n",
    );
    for row in &report.runs {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let fields = [
            quoted(&row.prompt),
            row.strategy.to_owned(),
            row.draft_length.map_or_else(String::new, |n| n.to_string()),
            row.tokens.to_string(),
            row.passes.to_string(),
            number(row.tokens_per_pass),
            number(row.acceptance),
            row.decode_ms.to_string(),
            number(row.tok_s),
            number(row.tok_s_min),
            number(row.tok_s_max),
            number(row.draft_ms),
            number(row.verify_ms),
            number(row.other_ms),
            number(row.speedup),
            row.identical
                .map_or_else(String::new, |same| same.to_string()),
        ];
        out += &fields.join(",");
        out.push('\n');
    }
    out
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The names of the prompts, in order.
pub(super) fn prompts(report: &Report) -> Vec<&str> {
    let mut prompts: Vec<&str> = report.runs.iter().map(|row| row.prompt.as_str()).collect();
    prompts.dedup();
    prompts
}

/// The strategies, in order.
pub(super) fn contenders(report: &Report) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for row in &report.runs {
        if !contenders.contains(&row.contender()) {
            contenders.push(row.contender());
        }
    }
    contenders
}

/// The rows of a prompt.
pub(super) fn of_prompt<'a>(report: &'a Report, prompt: &str) -> impl Iterator<Item = &'a Row> {
    report.runs.iter().filter(move |row| row.prompt == prompt)
}

/// What was run, and where.
struct Head<'a>(&'a Report);

impl Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Report {
            machine, settings, ..
        } = self.0;
        write!(f, "{}", clean(&settings.target))?;
        match &settings.draft {
            Some(draft) => write!(f, " with {}", clean(draft))?,
            None => write!(f, " without a draft model")?,
        }
        write!(f, " on {}", machine.device)?;
        if let Some(threads) = machine.threads {
            write!(f, ", {threads} threads")?;
        }
        if let Some(isa) = machine.isa {
            write!(f, ", {isa}")?;
        }
        write!(
            f,
            "\n{} tokens, {}, {} {}",
            settings.tokens,
            settings.sampling,
            settings.runs,
            if settings.runs == 1 { "run" } else { "runs" }
        )
    }
}

/// Whether the texts were the same.
struct Identity<'a>(&'a [Row]);

impl Display for Identity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut all = !self.0.is_empty();
        for row in self.0 {
            let what = match row.identical {
                Some(true) => continue,
                Some(false) => "NOT plain's text",
                None => "not compared: plain has not answered",
            };
            all = false;
            writeln!(f, "{}, {}: {what}", clean(&row.prompt), row.contender())?;
        }
        if all {
            writeln!(f, "every text is plain's, token for token")?;
        }
        Ok(())
    }
}

/// What each model writes on its own, by its passes of one token.
struct Alone<'a>(&'a Costs);

impl Display for Alone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Costs { target, draft, .. } = self.0;
        let one = target.verify_ms[&1];
        write!(f, "alone, the target writes {:.1} tok/s", 1000.0 / one)?;
        match draft {
            Ok(draft) => write!(
                f,
                " and the draft {:.1}, {:.1} times as fast",
                1000.0 / draft.step_ms,
                one / draft.step_ms
            ),
            Err(_) => Ok(()),
        }
    }
}

/// Text in a cell of a Markdown table, or on a line.
struct Cell<'a>(&'a str);

impl Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for c in clean(self.0).chars() {
            if r"\|*_`<>[]".contains(c) {
                f.write_char('\\')?;
            }
            f.write_char(c)?;
        }
        Ok(())
    }
}

/// A number with so many decimals; one without data is a dash.
struct Rate(Option<f64>, usize);

impl Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value:.*}", self.1),
            None => f.write_str("—"),
        }
    }
}

/// `1.30x`.
struct Factor(Option<f64>);

impl Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value:.2}x"),
            None => f.write_str("—"),
        }
    }
}

/// `87 %`.
struct Share(Option<f64>);

impl Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{:.0} %", value * 100.0),
            None => f.write_str("—"),
        }
    }
}
