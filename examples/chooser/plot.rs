//! Cumulative times as SVG: of kernels alone, with what finding them took, and with compilation.

use crate::strategies::Strategy;
use plotters::prelude::*;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::write_whole;
use std::path::Path;

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008).
const COLORS: [RGBColor; 6] = [
    RGBColor(120, 120, 120),
    RGBColor(230, 159, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
];

pub fn courses(path: &Path, strategies: &[Strategy]) -> Result<()> {
    let svg = draw(strategies).map_err(|e| Error::Failed(format!("drawing: {e}")))?;
    write_whole(path, format!("<!-- made by seqtune -->\n{svg}").as_bytes())
}

fn draw(strategies: &[Strategy]) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (1_260, 460)).into_drawing_area();
        root.fill(&WHITE)?;
        let titles = ["kernels", "with searches and predictions", "with compiling each config once"];
        for (kind, (area, title)) in root.split_evenly((1, 3)).iter().zip(titles).enumerate() {
            let calls = strategies.iter().map(|s| s.spent.course.len()).max().unwrap_or(1);
            let last = |s: &Strategy| s.spent.course.last().map_or(0.0, |course| course[kind] / 1e6);
            // the legend stands above the lines
            let most = strategies.iter().map(last).fold(0.0, f64::max) * 1.65;
            let mut chart = ChartBuilder::on(area)
                .caption(title, ("sans-serif", 17))
                .margin(10)
                .margin_right(24)
                .x_label_area_size(40)
                .y_label_area_size(50)
                .build_cartesian_2d(0.0..calls as f64, 0.0..most)?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .light_line_style(TRANSPARENT)
                .x_labels(5)
                .x_desc("calls")
                .y_desc("seconds")
                .x_label_formatter(&|x| format!("{x:.0}"))
                .label_style(("sans-serif", 14))
                .draw()?;
            for (strategy, color) in strategies.iter().zip(COLORS) {
                let course = &strategy.spent.course;
                let points =
                    course.iter().enumerate().step_by(5).map(|(call, spent)| (call as f64 + 1.0, spent[kind] / 1e6));
                chart
                    .draw_series(LineSeries::new(points, color.stroke_width(2)))?
                    .label(format!("{}: {:.1} s", strategy.name, last(strategy)))
                    .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], color.filled()));
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE.mix(0.85))
                .label_font(("sans-serif", 14))
                .draw()?;
        }
        root.present()?;
    }
    Ok(text)
}
