//! The text of a header.

use crate::header::cpp::{FUNCTIONS, expression, number};
use crate::header::tree::{Node, PER_LEAF};
use crate::header::{Header, Sizes};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::spelling::{c_comment, c_name, c_names};
use seqtune_kernel::{Constraint, LIMIT_NAMES, hex};
use seqtune_predict::{Kernel, Problem};
use sha2::{Digest, Sha256};

/// What a header of ours begins with, to be known again before it is replaced.
pub const MARK: &str = "// Made by seqtune";

/// Names that a header has for itself, which a member must not have.
const OWN: [&str; 4] = ["Problem", "Config", "Source", "detail"];

/// What the types of choices end with.
const LABEL: &str = "_label";

/// Names of a kernel's parts in C++.
struct Named {
    fields: Vec<String>,
    /// Types of choices.
    types: Vec<String>,
    /// Labels of choices.
    labels: Vec<Vec<String>>,
    parameters: Vec<String>,
}

impl Named {
    fn new(kernel: &Kernel) -> Named {
        // types of choices end with `_label`, and no member does: it would hide the type of another
        let field = |f: &Field| f.name.clone() + if f.name.ends_with(LABEL) { "_" } else { "" };
        let texts: Vec<String> = kernel.fields.iter().map(field).collect();
        let taken = OWN.map(String::from);
        let fields = c_names(texts.iter().map(String::as_str), &taken);
        Named {
            types: fields.iter().map(|field| format!("{field}{LABEL}")).collect(),
            labels: kernel.fields.iter().map(|f| c_names(f.labels.iter().map(String::as_str), &[])).collect(),
            parameters: c_names(kernel.parameters.iter().map(|p| p.name.as_str()), &taken),
            fields,
        }
    }

    /// A slot of an expression; limits were folded away.
    fn slot(&self, slot: usize) -> String {
        let parameters = self.parameters.len();
        match slot < parameters {
            true => format!("double(c.{})", self.parameters[slot]),
            false => format!("double(p.{})", self.fields[slot - parameters]),
        }
    }

    /// A field's value.
    fn value(&self, at: usize, field: &Field, value: f64) -> String {
        match field.kind {
            FieldKind::Size => format!("{value}"),
            FieldKind::Real => number(value),
            FieldKind::Choice => format!("{}::{}", self.types[at], self.labels[at][value as usize]),
        }
    }

    fn problem(&self, kernel: &Kernel, problem: &Problem) -> String {
        let values = kernel.fields.iter().enumerate().zip(&problem.values);
        values.map(|((at, field), value)| self.value(at, field, *value)).collect::<Vec<_>>().join(", ")
    }
}

/// Constraints use NaN and infinity, and `-ffast-math` lets a compiler assume that neither occurs. 32-bit x86 computes with 80 bits, where `floor(0.7 * 10)`
/// is 6, unless it is told to use SSE2.
const EXACT: &str = "
// Answers are the same under -ffast-math and /fp:fast, and with -m32 (which needs SSE2).
#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#if (defined(__i386__) || defined(__x86_64__)) && !defined(__SSE2_MATH__)
#pragma clang attribute push(__attribute__((target(\"sse2\"))), apply_to = function)
#endif
#elif defined(_MSC_VER)
#pragma float_control(precise, on, push)
#elif defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC push_options
#pragma GCC optimize(\"no-fast-math\")
#if (defined(__i386__) || defined(__x86_64__)) && (!defined(__SSE2_MATH__) || __FLT_EVAL_METHOD__ < 0)
#pragma GCC target(\"sse2,fpmath=sse\")
#endif
#endif
";

const END_OF_EXACT: &str = "
#if defined(__clang__) && (defined(__i386__) || defined(__x86_64__)) && !defined(__SSE2_MATH__)
#pragma clang attribute pop
#endif
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(pop)
#elif defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC pop_options
#endif
";

impl Header {
    /// The header as C++17, in the namespace `seqtune_KERNEL`, which needs the standard library alone.
    pub fn text(&self) -> String {
        self.text_in(&format!("seqtune_{}", c_name(&self.kernel.name)))
    }

    /// The same in another namespace, which is a name in C++. A file that includes two headers of one namespace is refused by its compiler, unless
    /// they are the same.
    pub fn text_in(&self, space: &str) -> String {
        let body = self.body(space);
        // as it is: another kernel's header may differ in capitals alone
        let guard = format!("CHOICES_OF_{space}_H");
        let digest = hex(&Sha256::digest(&body)[..8]);
        format!(
            "{}#ifndef {guard}\n#define {guard} 0x{digest}u\n\n{body}\n#elif {guard} != 0x{digest}u\n\
             #error \"two headers of seqtune that differ are of namespace {space}: export one of them with --namespace NAME\"\n#endif // {guard}\n",
            self.head()
        )
    }

    /// What stands between the guards.
    fn body(&self, space: &str) -> String {
        let kernel = &self.kernel;
        let named = Named::new(kernel);
        let mut out = String::new();
        for header in ["algorithm", "array", "cmath", "cstddef", "cstdint", "limits", "optional", "tuple"] {
            out += &format!("#include <{header}>\n");
        }
        out += EXACT;
        out += &format!("\nnamespace {space} {{\n\n");
        out += &problem_type(kernel, &named);
        out += "/// Values of the tuning parameters.\nstruct Config {\n";
        for (parameter, name) in kernel.parameters.iter().zip(&named.parameters) {
            out += &format!("    std::int64_t {name}; ///< {}\n", c_comment(&parameter.meaning));
        }
        out += "};\n\n/// Where a config came from.\nenum class Source { table, tree, last_resort };\n\nnamespace detail {\n";
        out += &FUNCTIONS.replace("\nconstexpr", "\ninline constexpr");
        out += &self.arrays(&named);
        out += "\n} // namespace detail\n\n";
        out += &self.legality(&named);
        out += &self.tree_walk(&named);
        out += CHOOSE;
        out += &format!("}} // namespace {space}\n");
        out += END_OF_EXACT;
        out
    }

    fn head(&self) -> String {
        let loss = &self.loss;
        let Sizes { configs, fixed } = self.sizes();
        let made = format!("{MARK} {}: kernel {}", env!("CARGO_PKG_VERSION"), self.kernel.name);
        let lines = [
            match self.grounds.is_empty() {
                true => format!("{made}, device {}.", self.device.name),
                false => format!("{made}, {}.", self.grounds),
            },
            format!("Model {}, space {}.", self.source, self.kernel.space_hash_on(&self.device)),
            format!(
                "{fixed} fixed problems in a table, all others by a tree of {} leaves; {configs} configs.",
                self.leaves()
            ),
            format!("The tree was grown for {}.", self.ranges),
            format!(
                "The tree against the model, on {} other random problems: it chooses as the model in {:.1} %, and loses {:.2} % of the speed that the model predicts. How good the model is stands with the model.",
                loss.problems,
                100.0 * loss.agreement,
                100.0 * loss.mean
            ),
            "A config is returned only where every constraint of the kernel holds for the problem on that device."
                .into(),
        ];
        let line = |(at, line): (usize, &String)| match at {
            0 => format!("{}\n", c_comment(line)),
            _ => format!("// {}\n", c_comment(line)),
        };
        lines.iter().enumerate().map(line).collect()
    }

    /// Configs, table, tree and configs of last resort.
    fn arrays(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let mut out = String::new();
        let values = |config: &seqtune_predict::Config| {
            let values = config.0.iter().zip(&kernel.parameters).map(|(c, p)| p.values[*c as usize].to_string());
            values.collect::<Vec<_>>().join(", ")
        };
        out += &format!("\ninline constexpr std::array<Config, {}> configs{{{{\n", self.configs.len());
        self.configs.iter().for_each(|config| out += &format!("    {{{}}},\n", values(config)));
        out += "}};\n\nstruct Fixed {\n    Problem problem;\n    std::uint32_t config;\n};\n\n";
        out += "/// In the order of the problems' values.\n";
        out += &format!("inline constexpr std::array<Fixed, {}> table{{{{\n", self.table.len());
        for (problem, at) in &self.table {
            out += &format!("    {{{{{}}}, {at}}},\n", named.problem(kernel, problem));
        }
        out += "}};\n\n";
        out += &format!(
            "/// A leaf has quantity -1 and configs, tried in their order; -1 is none. Others go to `low` where the quantity is at most the\n\
             /// threshold, else to `high`.\nstruct Node {{\n    int quantity;\n    double threshold;\n    int low, high;\n    int configs[{PER_LEAF}];\n}};\n\n"
        );
        out += &format!("inline constexpr std::array<Node, {}> tree{{{{\n", self.tree.0.len());
        let used = self.split_quantities();
        for node in &self.tree.0 {
            out += &match node {
                Node::Split { quantity, threshold, to: [low, high] } => {
                    let at = used.iter().position(|q| q == quantity).unwrap_or_default();
                    format!("    {{{at}, {}, {low}, {high}, {{-1, -1, -1}}}},\n", number(*threshold))
                }
                Node::Leaf(configs) => {
                    let at = |i: usize| configs.get(i).map_or(-1, |c| *c as i64).to_string();
                    format!("    {{-1, 0.0, -1, -1, {{{}}}}},\n", (0..PER_LEAF).map(at).collect::<Vec<_>>().join(", "))
                }
            };
        }
        let last: Vec<String> = self.last_resort.iter().map(usize::to_string).collect();
        out += &format!(
            "}}}};\n\ninline constexpr std::array<int, {}> last_resort{{{{{}}}}};\n",
            last.len(),
            last.join(", ")
        );
        out += &compare(named);
        out
    }

    /// The quantities that the tree splits, in rising order.
    fn split_quantities(&self) -> Vec<usize> {
        let split = |node: &Node| if let Node::Split { quantity, .. } = node { Some(*quantity) } else { None };
        let mut used: Vec<usize> = self.tree.0.iter().filter_map(split).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Fields are slots behind the parameters, limits behind them.
    fn fold(&self, expr: &seqtune_kernel::expressions::Expr) -> seqtune_kernel::expressions::Expr {
        let kernel = &self.kernel;
        let nothing = Problem { values: vec![0.0; kernel.fields.len()] };
        let env = kernel.env(&nothing, Some(&self.device));
        expr.specialise(&env, env.len() - LIMIT_NAMES.len())
    }

    fn legality(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let limits = kernel.parameters.len() + kernel.fields.len();
        let known = self.device.limits.values();
        let checked = |constraint: &&Constraint| {
            let mut all = true;
            constraint.expr.slots(&mut |s| all &= s < limits || known[s - limits].is_some());
            all
        };
        let mut out = format!(
            "/// Whether a config is legal for a problem on {}: constraints that need a limit which is not known of it are not checked.\n",
            c_comment(&self.device.name)
        );
        out += "inline bool legal([[maybe_unused]] const Problem& p, [[maybe_unused]] const Config& c) {\n";
        for (field, name) in kernel.fields.iter().zip(&named.fields).filter(|(field, _)| field.kind == FieldKind::Size)
        {
            let (least, most) = (field.min, field.max);
            out += &format!("    if (p.{name} < {least} || p.{name} > {most}) return false;\n");
        }
        let mut parts = 0;
        for constraint in kernel.constraints.iter().filter(checked) {
            let slot = |s: usize| named.slot(s);
            let (statements, last) = expression(&self.fold(&constraint.expr), &slot, &mut parts);
            out += &format!(
                "    // {}\n{statements}    if (!({last} == 1.0)) return false;\n",
                c_comment(&constraint.reason)
            );
        }
        out + "    return true;\n}\n\n"
    }

    /// The function that walks the tree.
    fn tree_walk(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let used = self.split_quantities();
        let mut out = String::from("namespace detail {\n\n/// The leaf that a problem ends at.\n");
        out += "inline const Node& leaf([[maybe_unused]] const Problem& p) {\n";
        let derived: Vec<_> = kernel.features.iter().filter(|f| f.known_after == 0).collect();
        let (mut parts, mut values) = (0, Vec::new());
        for quantity in &used {
            let slot = |s: usize| named.slot(s);
            values.push(match quantity.checked_sub(kernel.fields.len()) {
                None => format!("double(p.{})", named.fields[*quantity]),
                Some(at) => {
                    let (statements, last) = expression(&self.fold(&derived[at].expr), &slot, &mut parts);
                    out += &statements;
                    last
                }
            });
        }
        if values.is_empty() {
            return out + "    return tree[0];\n}\n\n} // namespace detail\n\n";
        }
        out += &format!("    const double quantities[] = {{{}}};\n", values.join(", "));
        out += "    std::size_t at = 0;\n    while (tree[at].quantity >= 0) {\n        const Node& node = tree[at];\n";
        out += "        const bool low = quantities[node.quantity] <= node.threshold;\n";
        out += "        at = static_cast<std::size_t>(low ? node.low : node.high);\n    }\n    return tree[at];\n}\n\n} // namespace detail\n\n";
        out
    }
}

/// The struct of a problem, with its types of choices.
fn problem_type(kernel: &Kernel, named: &Named) -> String {
    let mut out = String::new();
    for (at, field) in kernel.fields.iter().enumerate().filter(|(_, f)| f.kind == FieldKind::Choice) {
        let labels: Vec<String> =
            named.labels[at].iter().enumerate().map(|(value, label)| format!("{label} = {value}")).collect();
        out += &format!(
            "/// {}\nenum class {} {{ {} }};\n\n",
            c_comment(&field.meaning),
            named.types[at],
            labels.join(", ")
        );
    }
    out += "/// A problem of the kernel.\nstruct Problem {\n";
    for (at, field) in kernel.fields.iter().enumerate() {
        let kind = match field.kind {
            FieldKind::Size => "std::int64_t",
            FieldKind::Real => "double",
            FieldKind::Choice => &named.types[at],
        };
        let default = field.default.as_ref().and_then(|text| field.value(text).ok());
        let least = if field.kind == FieldKind::Size { field.min as f64 } else { 0.0 };
        let value = named.value(at, field, default.unwrap_or(least));
        out += &format!("    {kind} {} = {value}; ///< {}\n", named.fields[at], c_comment(&field.meaning));
    }
    out + "};\n\n"
}

/// Comparison of problems by all of their values.
fn compare(named: &Named) -> String {
    let tie = |of: &str| named.fields.iter().map(|f| format!("{of}.{f}")).collect::<Vec<_>>().join(", ");
    format!(
        "\ninline bool before(const Problem& a, const Problem& b) {{\n    return std::tie({}) < std::tie({});\n}}\n",
        tie("a"),
        tie("b")
    )
}

/// What a caller calls.
const CHOOSE: &str = "/// A legal config for a problem, nothing where none that is known here is legal.
inline std::optional<Config> choose(const Problem& p, Source* source = nullptr) {
    const auto found = [&](int config, Source from) -> std::optional<Config> {
        if (source != nullptr) *source = from;
        return detail::configs[static_cast<std::size_t>(config)];
    };
    const auto is_before = [](const detail::Fixed& fixed, const Problem& wanted) {
        return detail::before(fixed.problem, wanted);
    };
    const auto fixed = std::lower_bound(detail::table.begin(), detail::table.end(), p, is_before);
    if (fixed != detail::table.end() && !detail::before(p, fixed->problem))
        return found(static_cast<int>(fixed->config), Source::table);
    for (const int config : detail::leaf(p).configs)
        if (config >= 0 && legal(p, detail::configs[static_cast<std::size_t>(config)])) return found(config, Source::tree);
    for (const int config : detail::last_resort)
        if (legal(p, detail::configs[static_cast<std::size_t>(config)])) return found(config, Source::last_resort);
    return std::nullopt;
}

";
