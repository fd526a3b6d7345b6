//! Names of columns that files of others share with the names of a kernel.
//!
//! A field or a parameter that is called like a column of results gets a prefix; the column of results keeps its name, by which programs find it.

use seqtune_kernel::Kernel;

/// What is written before the name of a field.
const FIELD: &str = "field_";

/// What is written before the name of a parameter.
const PARAMETER: &str = "parameter_";

/// A name behind the prefix as often as it takes to be none of the others.
fn apart(prefix: &str, name: &str, others: &dyn Fn(&str) -> bool) -> String {
    let mut written = name.to_string();
    while others(&written) {
        written.insert_str(0, prefix);
    }
    written
}

/// Names of a kernel's fields in a file whose other columns are `reserved`, in their order.
pub fn fields(kernel: &Kernel, reserved: &[&str]) -> Vec<String> {
    let own =
        |name: &str| kernel.fields.iter().any(|f| f.name == name) || kernel.parameters.iter().any(|p| p.name == name);
    let write =
        |name: &String| apart(FIELD, name, &|written| reserved.contains(&written) || written != name && own(written));
    kernel.fields.iter().map(|f| write(&f.name)).collect()
}

/// Names of a kernel's parameters in a file whose other columns are `reserved`, in their order.
pub fn parameters(kernel: &Kernel, reserved: &[&str]) -> Vec<String> {
    let fields = fields(kernel, reserved);
    let own = |name: &str| fields.iter().any(|f| f == name) || kernel.parameters.iter().any(|p| p.name == name);
    let write = |name: &String| {
        apart(PARAMETER, name, &|written| reserved.contains(&written) || written != name && own(written))
    };
    kernel.parameters.iter().map(|p| write(&p.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        name = "toy"
        meaning = "a toy"
        field = [{ name = "samples", kind = "size", min = 1, max = 9, meaning = "x" }, { name = "n", kind = "size", min = 1, max = 9, meaning = "x" }]
        parameter = [
            { name = "time", values = [1, 2], default = 1, meaning = "x" },
            { name = "parameter_time", values = [1, 2], default = 1, meaning = "x" },
            { name = "tile", values = [1, 2], default = 1, meaning = "x" },
        ]
        work = { flops = "n", bytes = "n" }
    "#;

    #[test]
    fn a_name_that_is_taken_gets_a_prefix_as_often_as_it_takes() {
        let files = [("kernel.toml".to_string(), TOML.to_string())];
        let kernel = Kernel::from_files(files.into(), "toy").unwrap();
        let reserved = ["samples", "time"];
        assert_eq!(fields(&kernel, &reserved), ["field_samples", "n"]);
        let written = parameters(&kernel, &reserved);
        assert_eq!(written, ["parameter_parameter_time", "parameter_time", "tile"]);
        assert_eq!(parameters(&kernel, &[]), ["time", "parameter_time", "tile"]);
    }
}
