//! The text of a C++17 header.

use crate::dispatch::Dispatch;
use crate::dispatch::code::Named;
use crate::dispatch::languages::cpp::{Cpp, FUNCTIONS};
use crate::dispatch::languages::{Language, Written, expression};
use crate::dispatch::tree::{Node, PER_LEAF};
use seqtune_kernel::hex;
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::spelling::{c_comment, c_name};
use seqtune_predict::{Kernel, Problem};
use sha2::{Digest, Sha256};

/// Names that a header has for itself, which a member must not have.
const OWN: [&str; 4] = ["Problem", "Config", "Source", "detail"];

/// A slot of an expression; limits were folded away.
fn slot(named: &Named, slot: usize) -> String {
    let parameters = named.parameters.len();
    match slot < parameters {
        true => format!("double(c.{})", named.parameters[slot]),
        false => format!("double(p.{})", named.fields[slot - parameters]),
    }
}

/// A field's value.
fn value_of(named: &Named, at: usize, field: &Field, value: f64) -> String {
    match field.kind {
        FieldKind::Size => format!("{value}"),
        FieldKind::Real => Cpp.number(value),
        FieldKind::Choice => format!("{}::{}", named.types[at], named.labels[at][value as usize]),
    }
}

fn values_of(named: &Named, kernel: &Kernel, problem: &Problem) -> String {
    let values = kernel.fields.iter().enumerate().zip(&problem.values);
    values.map(|((at, field), value)| value_of(named, at, field, *value)).collect::<Vec<_>>().join(", ")
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

impl Dispatch {
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
            self.comments()
        )
    }

    /// What stands between the guards.
    fn body(&self, space: &str) -> String {
        let kernel = &self.kernel;
        let named = Named::new(kernel, &OWN, &[]);
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

    fn comments(&self) -> String {
        self.head().iter().map(|line| format!("// {}\n", c_comment(line))).collect()
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
            out += &format!("    {{{{{}}}, {at}}},\n", values_of(named, kernel, problem));
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
                    format!("    {{{at}, {}, {low}, {high}, {{-1, -1, -1}}}},\n", Cpp.number(*threshold))
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

    fn legality(&self, named: &Named) -> String {
        let kernel = &self.kernel;
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
        for constraint in self.checked_constraints() {
            let slot = |s: usize| slot(named, s);
            let Written { statements, value } = expression(&Cpp, &self.fold(&constraint.expr), &slot, &mut parts);
            out += &format!(
                "    // {}\n{statements}    if (!({value} == 1.0)) return false;\n",
                c_comment(&constraint.reason)
            );
        }
        out + "    return true;\n}\n\n"
    }

    /// The function that walks the tree.
    fn tree_walk(&self, named: &Named) -> String {
        let used = self.split_quantities();
        let mut out = String::from("namespace detail {\n\n/// The leaf that a problem ends at.\n");
        out += "inline const Node& leaf([[maybe_unused]] const Problem& p) {\n";
        let (mut parts, mut values) = (0, Vec::new());
        for quantity in &used {
            let slot = |s: usize| slot(named, s);
            let Written { statements, value } = self.quantity(&Cpp, *quantity, &slot, &mut parts);
            out += &statements;
            values.push(value);
        }
        if values.is_empty() {
            return out + "    return tree[0];\n}\n\n} // namespace detail\n\n";
        }
        out += &format!("    const double quantities[] = {{{}}};\n", values.join(", "));
        if self.is_by_lines {
            return out + &self.ifs(0, 1) + "}\n\n} // namespace detail\n\n";
        }
        out += "    std::size_t at = 0;\n    while (tree[at].quantity >= 0) {\n        const Node& node = tree[at];\n";
        out += "        const bool low = quantities[node.quantity] <= node.threshold;\n";
        out += "        at = static_cast<std::size_t>(low ? node.low : node.high);\n    }\n    return tree[at];\n}\n\n} // namespace detail\n\n";
        out
    }

    /// The tree from a node on as `if`s, of which each returns.
    fn ifs(&self, at: usize, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        match &self.tree.0[at] {
            Node::Leaf(_) => format!("{indent}return tree[{at}];\n"),
            Node::Split { quantity, threshold, to: [low, high] } => {
                let quantity = self.split_quantities().iter().position(|q| q == quantity).unwrap_or_default();
                let test = format!("{indent}if (quantities[{quantity}] <= {})", Cpp.number(*threshold));
                let low = match &self.tree.0[*low] {
                    Node::Leaf(_) => format!("{test} return tree[{low}];\n"),
                    Node::Split { .. } => format!("{test} {{\n{}{indent}}}\n", self.ifs(*low, depth + 1)),
                };
                low + &self.ifs(*high, depth)
            }
        }
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
        let value = value_of(named, at, field, default.unwrap_or(least));
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
