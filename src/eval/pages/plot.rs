//! Plots as SVG, for those who would rather look than read.

use plotters::prelude::*;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::spelling::line;
use std::path::Path;

/// A group of bars with a label under it, one value per series.
pub struct Group {
    /// Text below the group; commas break it into lines.
    pub label: String,
    /// Heights of its bars, in the order of the series.
    pub values: Vec<f64>,
}

/// Points that belong together.
pub struct PlotLine {
    /// What they are, for the legend.
    pub name: String,
    /// Both coordinates of each.
    pub points: Vec<[f64; 2]>,
}

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008).
const COLORS: [RGBColor; 6] = [
    RGBColor(150, 150, 150),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];

/// What a plot or a page of ours begins with, to be known again before it is replaced.
pub const MARK: &str = "<!-- made by seqtune -->";

/// Writes an SVG whole or not at all, with the mark of ours before it.
///
/// # Errors
/// `Error::File` where the path cannot be a file, `Error::Failed` where the disk fails.
pub fn write(path: &Path, svg: &str) -> Result<()> {
    write_whole(path, format!("{MARK}\n{svg}").as_bytes())
}

/// Draws grouped vertical bars as SVG; `series` names the bars of each group.
///
/// # Errors
/// Where the plot cannot be drawn.
pub fn bars_svg(title: &str, unit: &str, series: &[&str], groups: &[Group]) -> Result<String> {
    draw(title, unit, series, groups).map_err(|e| Error::Failed(format!("drawing {title}: {e}")))
}

/// Draws lines as SVG over a logarithmic horizontal axis, from 0 on the vertical one.
///
/// # Errors
/// Where the plot cannot be drawn.
pub fn lines_svg(title: &str, horizontal: &str, vertical: &str, lines: &[PlotLine]) -> Result<String> {
    draw_lines(title, [horizontal, vertical], lines).map_err(|e| Error::Failed(format!("drawing {title}: {e}")))
}

fn draw_lines(
    title: &str,
    [horizontal, vertical]: [&str; 2],
    lines: &[PlotLine],
) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let coordinate = |axis: usize| lines.iter().flat_map(move |own| own.points.iter().map(move |point| point[axis]));
    let least = coordinate(0).fold(f64::INFINITY, f64::min).clamp(1e-9, 1e12);
    let greatest = coordinate(0).fold(least, f64::max);
    let highest = coordinate(1).fold(1e-9, f64::max);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (760, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(line(title), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(52)
            .y_label_area_size(60)
            .build_cartesian_2d(
                (0.9 * least..1.1 * greatest).log_scale().base(2.0),
                0f64..highest * (1.1 + 0.07 * lines.len() as f64),
            )?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(horizontal)
            .y_desc(vertical)
            .axis_desc_style(("sans-serif", 16))
            .x_label_formatter(&|value| format!("{}", (10.0 * value).round() / 10.0))
            .y_label_formatter(&|value| format!("{value:.*}", (highest < 20.0) as usize))
            .label_style(("sans-serif", 15))
            .draw()?;
        for (own, color) in lines.iter().zip(COLORS.into_iter().cycle().skip(1)) {
            let points: Vec<(f64, f64)> = own.points.iter().map(|[x, y]| (*x, *y)).collect();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(3)).point_size(4))?
                .label(line(&own.name))
                .legend(move |(x, y)| Rectangle::new([(x, y - 3), (x + 16, y + 3)], color.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 15))
            .draw()?;
        root.present()?;
    }
    Ok(text)
}

/// Top of the axis: above the bars there is room for the legend, 22 pixels for each series of the 366 that both have.
fn top(series: &[&str], groups: &[Group]) -> f64 {
    let highest = groups.iter().flat_map(|g| &g.values).copied().fold(0.0, f64::max);
    highest / (1.0 - (16.0 + 22.0 * series.len() as f64) / 366.0)
}

fn draw(
    title: &str,
    unit: &str,
    series: &[&str],
    groups: &[Group],
) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let width = (groups.len() as u32 * 90 + 160).clamp(640, 2_400);
        let root = SVGBackend::with_string(&mut text, (width, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let highest = top(series, groups);
        let mut chart = ChartBuilder::on(&root)
            .caption(line(title), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(60)
            .y_label_area_size(60)
            .build_cartesian_2d(0f64..groups.len() as f64, 0f64..highest.max(1e-9))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT)
            .y_desc(unit)
            .axis_desc_style(("sans-serif", 16))
            .y_label_formatter(&|value| match unit {
                "percent" if *value > 100.0 => String::new(),
                _ => format!("{value:.*}", (highest < 20.0) as usize),
            })
            .y_label_style(("sans-serif", 15))
            .draw()?;
        let step = 0.8 / series.len().max(1) as f64;
        for (s, name) in series.iter().enumerate() {
            let color = COLORS[s % COLORS.len()];
            let rectangles = groups.iter().enumerate().filter_map(|(g, group)| {
                let left = g as f64 + 0.1 + s as f64 * step;
                Some(Rectangle::new([(left, 0.0), (left + step * 0.92, *group.values.get(s)?)], color.filled()))
            });
            chart
                .draw_series(rectangles)?
                .label(line(name))
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 15))
            .draw()?;
        // labels under the groups, one line per field
        for (g, group) in groups.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(g as f64 + 0.1, 0.0));
            for (row, part) in group.label.split(',').filter(|part| !part.is_empty()).take(4).enumerate() {
                root.draw(&Text::new(line(part), (x, y + 6 + row as i32 * 14), ("sans-serif", 13)))?;
            }
        }
        root.present()?;
    }
    Ok(text)
}
