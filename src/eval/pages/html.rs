//! A report as one HTML page that needs nothing beside it: no script, no network; plots are inline SVG.

use crate::pages::plot::MARK;
use seqtune_kernel::error::Result;
use seqtune_kernel::files::write_whole;
use seqtune_kernel::spelling::markup;
use seqtune_predict::confidence::TopPrediction;
use std::path::Path;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What was evaluated.
    pub title: String,
    /// The result in a sentence.
    pub headline: String,
    /// What was asked: names and values.
    pub facts: Vec<(String, String)>,
    /// Plots as SVG.
    pub plots: Vec<String>,
    /// What the table shows.
    pub caption: String,
    /// Names of the columns; all but the first are numbers or short.
    pub columns: Vec<String>,
    /// Cells by row, worst first.
    pub rows: Vec<Vec<String>>,
}

/// Colours follow the reader's preference; tables scroll on their own where the page is narrow.
const STYLE: &str = ":root{color-scheme:light dark;--line:#ccc;--soft:#666}\
@media(prefers-color-scheme:dark){:root{--line:#444;--soft:#aaa}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}.headline{font-size:1.15rem}\
figure{margin:1.5rem 0;background:#fff;border:1px solid var(--line);overflow-x:auto}figure svg{display:block;max-width:100%;height:auto}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}@media print{body{margin:0;max-width:none}figure{break-inside:avoid}}";

impl Page {
    /// Writes the page, whole or not at all.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_whole(path, self.text().as_bytes())
    }

    /// The page as text.
    pub fn text(&self) -> String {
        let facts: String = self.facts.iter().map(|(name, value)| fact(name, value)).collect();
        let plots: String = self.plots.iter().map(|svg| format!("<figure>{}</figure>\n", inline(svg))).collect();
        let cells = |row: &[String], tag: &str| -> String {
            row.iter().map(|cell| format!("<{tag}>{}</{tag}>", markup(cell))).collect()
        };
        let head = cells(&self.columns, "th");
        let body: String = self.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
        format!(
            "<!doctype html>\n{MARK}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n<p class=\"headline\">{headline}</p>\n{plots}\
             <h2>Problems</h2>\n<div class=\"scroll\"><table><caption>{caption}</caption>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
             <h2>What was asked</h2>\n<dl>\n{facts}</dl>\n</body></html>\n",
            title = markup(&self.title),
            headline = markup(&self.headline),
            caption = markup(&self.caption),
        )
    }
}

fn fact(name: &str, value: &str) -> String {
    format!("<dt>{}</dt><dd>{}</dd>\n", markup(name), markup(value))
}

/// An SVG as a part of a page: without a declaration before it.
fn inline(svg: &str) -> &str {
    svg.find("<svg").map_or("", |at| &svg[at..])
}

/// Intervals of stated probability in a reliability diagram.
const BINS: usize = 10;

/// A reliability diagram (Niculescu-Mizil and Caruana 2005) as SVG: the share of first choices that were the best against the probability
/// that was stated, by tenths; the area of a point is the number of problems.
pub fn reliability_diagram(firsts: &[TopPrediction]) -> String {
    let mut bins = [(0usize, 0.0, 0usize); BINS];
    for first in firsts {
        let bin = &mut bins[((first.probability * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + 1, bin.1 + first.probability, bin.2 + first.best as usize);
    }
    let (x, y) = (|p: f64| 76.0 + 300.0 * p, |p: f64| 366.0 - 300.0 * p);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 430\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <rect width=\"760\" height=\"430\" fill=\"#fff\"/>\n\
         <text x=\"76\" y=\"26\" font-size=\"17\" font-weight=\"bold\">Are the stated probabilities true?</text>\n\
         <text x=\"76\" y=\"46\" fill=\"#555\">first choices; on the line they would be</text>\n",
    );
    for tenth in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
        let percent = 100.0 * tenth;
        svg += &format!("<line x1=\"76\" x2=\"376\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"#ddd\"/>\n", y(tenth));
        svg += &format!("<text x=\"68\" y=\"{:.1}\" text-anchor=\"end\">{percent:.0} %</text>\n", y(tenth) + 5.0);
        svg += &format!("<text x=\"{:.1}\" y=\"388\" text-anchor=\"middle\">{percent:.0} %</text>\n", x(tenth));
    }
    svg += &format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#777\" stroke-dasharray=\"5 4\"/>\n\
         <text x=\"226\" y=\"412\" text-anchor=\"middle\" fill=\"#555\">stated probability of being the best</text>\n\
         <text transform=\"translate(18 216) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">share that was the best</text>\n",
        x(0.0),
        y(0.0),
        x(1.0),
        y(1.0)
    );
    let most = bins.iter().map(|bin| bin.0).max().unwrap_or(1).max(1) as f64;
    for (count, stated, best) in bins.into_iter().filter(|bin| bin.0 > 0) {
        let (stated, share) = (stated / count as f64, best as f64 / count as f64);
        let radius = 4.0 + 10.0 * (count as f64 / most).sqrt();
        svg += &format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"#0072b2\" fill-opacity=\"0.75\"><title>{count} problems: stated {:.0} %, were {:.0} %</title></circle>\n",
            x(stated),
            y(share),
            100.0 * stated,
            100.0 * share
        );
    }
    svg + &format!(
        "<text x=\"400\" y=\"80\" fill=\"#555\">{} problems; the area is their number</text>\n</svg>\n",
        firsts.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_needs_nothing_beside_it_and_escapes_what_it_shows() {
        let first = |probability, best| TopPrediction { probability, best, lost: Some(0.0) };
        let page = Page {
            title: "<b>&\"".into(),
            headline: "fine".into(),
            facts: vec![("kernel".into(), "<script>".into())],
            plots: vec![format!(
                "<?xml version=\"1.0\"?>\n{}",
                reliability_diagram(&[first(0.9, true), first(0.2, false)])
            )],
            caption: "worst first".into(),
            columns: vec!["problem".into(), "share".into()],
            rows: vec![vec!["M<1".into(), "50 %".into()], vec!["M=2".into(), "90 %".into()]],
        };
        let text = page.text();
        assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
        assert!(text.contains("&lt;b&gt;&amp;&quot;") && text.contains("M&lt;1") && !text.contains("<script"));
        assert!(!text.contains("src=") && !text.contains("href=") && !text.contains("<?xml"));
        assert_eq!((text.matches("<tr>").count(), text.matches("<circle").count()), (3, 2));
        assert!(text.find("M&lt;1") < text.find("M=2"));
    }
}
