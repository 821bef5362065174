//! A report as two charts in one SVG: speed by prompt and strategy, and what passes cost.
//!
//! ```text
//! tok/s                      ■ plain ■ draft:3 ■ lookup        passes of one token
//! │ ▇▇▅ ▆▇▄ ▇▇█ ▇▆▄                                            │        __--
//! └──────────────────                                          └──────────── tokens checked
//!   prompts                      (the charts stand one above the other)
//! ```
//!
//! It has its own light background, so that it reads the same in light and dark viewers.

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::table::{contenders, of_prompt, prompts};
use super::{Report, Row};
use crate::clean::clean;

const WIDTH: u32 = 960;
/// Height of each of the two charts.
const HEIGHT: u32 = 400;
/// Legend entries in a line.
const LEGEND_COLUMNS: usize = 5;

const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(225, 225, 225);
/// Colours that people with colour blindness tell apart (Okabe and Ito 2008), after a grey.
const COLOURS: [RGBColor; 7] = [
    RGBColor(140, 140, 140),
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the charts.
pub fn svg(report: &Report) -> Result<String> {
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, 2 * HEIGHT)).into_drawing_area();
        root.fill(&WHITE)?;
        speeds(report, &root)?;
        costs(report, &root.split_vertically(HEIGHT).1)?;
        root.present()?;
    }
    Ok(out)
}

fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Bars by prompt and strategy, with the slowest and the fastest run as a line. `root` begins at 0, 0.
fn speeds(report: &Report, root: &Area) -> Result<()> {
    let contenders = contenders(report);
    let prompts = prompts(report);
    let fastest = report.runs.iter().filter_map(|row| row.tok_s_max);
    let top = fastest.fold(1.0, f64::max) * 1.08;
    let legend_lines = contenders.len().div_ceil(LEGEND_COLUMNS) as u32;
    let mut chart = ChartBuilder::on(&root.split_vertically(HEIGHT).0)
        .caption("Tokens per second", font(20))
        .margin(12)
        .margin_top(12 + 18 * legend_lines)
        .x_label_area_size(34)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..prompts.len().max(1) as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_desc("tok/s")
        .label_style(font(14))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;

    let colour = |i: usize| COLOURS[i % COLOURS.len()];
    for (i, contender) in contenders.iter().enumerate() {
        let x = 70 + (i % LEGEND_COLUMNS) as i32 * 176;
        let y = 10 + (i / LEGEND_COLUMNS) as i32 * 18;
        root.draw(&Rectangle::new(
            [(x, y), (x + 12, y + 12)],
            colour(i).filled(),
        ))?;
        root.draw(&Text::new(contender.to_string(), (x + 18, y - 1), font(15)))?;
    }
    // Of each prompt's unit of width, a fifth is a gap.
    let width = 0.8 / contenders.len().max(1) as f64;
    for (p, prompt) in prompts.iter().enumerate() {
        let name = Text::new(
            clean(prompt).into_owned(),
            below(chart.backend_coord(&(p as f64 + 0.5, 0.0))),
            font(15).pos(Pos::new(HPos::Center, VPos::Top)),
        );
        root.draw(&name)?;
        for row in of_prompt(report, prompt) {
            let Row {
                tok_s: Some(tok_s),
                tok_s_min: Some(least),
                tok_s_max: Some(most),
                ..
            } = *row
            else {
                continue;
            };
            let Some(i) = contenders.iter().position(|c| *c == row.contender()) else {
                continue;
            };
            let left = p as f64 + 0.1 + i as f64 * width;
            let middle = left + width * 0.45;
            let bar = [(left, 0.0), (left + width * 0.9, tok_s)];
            chart.draw_series([Rectangle::new(bar, colour(i).filled())])?;
            let spread = vec![(middle, least), (middle, most)];
            chart.draw_series([PathElement::new(spread, INK.stroke_width(1))])?;
            let (x, y) = chart.backend_coord(&(middle, most));
            let style = font(11).pos(Pos::new(HPos::Center, VPos::Bottom));
            root.draw(&Text::new(format!("{tok_s:.0}"), (x, y - 2), style))?;
        }
    }
    Ok(())
}

fn below((x, y): (i32, i32)) -> (i32, i32) {
    (x, y + 8)
}

/// A pass's cost by the tokens it checks, in passes of one token.
fn costs(report: &Report, area: &Area) -> Result<()> {
    let verify_ms = &report.cost.target.verify_ms;
    let one = verify_ms[&1];
    let points: Vec<(f64, f64)> = verify_ms
        .iter()
        .map(|(&size, ms)| (size as f64, ms / one))
        .collect();
    let right = points.iter().fold(1.0, |most, &(size, _)| size.max(most));
    let top = points.iter().fold(1.0, |most, &(_, cost)| cost.max(most)) * 1.1;
    let title =
        format!("Cost of a pass by the tokens it checks (1 = {one:.1} ms, a pass of one token)");
    let mut chart = ChartBuilder::on(area)
        .caption(title, font(20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right + 1.0, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("tokens checked")
        .y_desc("passes of one token")
        .x_label_formatter(&|size| format!("{size:.0}"))
        .label_style(font(14))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let line = points.iter().copied();
    chart.draw_series(LineSeries::new(line, COLOURS[1].stroke_width(2)))?;
    let dots = points
        .iter()
        .map(|&point| Circle::new(point, 3, COLOURS[1].filled()));
    chart.draw_series(dots)?;
    Ok(())
}
