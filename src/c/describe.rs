//! Names and values of a kernel's parameters and fields. They stay until the predictor is closed.

use crate::pointers::{object, put, text};
use crate::predictor::Predictor;
use crate::status::{Answer, Fault, Status, guard, guarded_value};
use std::ffi::{CString, c_char};

/// The item of a list, or what the list has.
fn item<'a, T>(items: &'a [T], at: usize, what: &str) -> Answer<&'a T> {
    items.get(at).ok_or_else(|| Fault::input(format!("there is no {what} {at}: there are {}, from 0 on", items.len())))
}

fn pointer(name: &CString) -> *const c_char {
    name.as_ptr()
}

/// Number of the kernel's parameters: the values of one config. 0 where `predictor` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_parameter_count(predictor: *const Predictor) -> usize {
    // SAFETY: as the header demands
    guarded_value(0, || Ok(unsafe { object(predictor, "predictor") }?.0.parameters.len()))
}

/// Name of a parameter, counted from 0; NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_parameter_name(predictor: *const Predictor, parameter: usize) -> *const c_char {
    guarded_value(std::ptr::null(), || {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor, "predictor") }?.0;
        item(&shared.parameters, parameter, "parameter").map(pointer)
    })
}

/// Place of a parameter's value in a config by the parameter's name; -1 where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_parameter_index(predictor: *const Predictor, name: *const c_char) -> isize {
    guarded_value(-1, || {
        // SAFETY: as the header demands
        let (shared, name) = unsafe { (&object(predictor, "predictor")?.0, text(name, "name")?) };
        let at = shared.kernel.parameters.iter().position(|p| p.name == name);
        let missing = || Fault::input(format!("kernel {} has no parameter `{name}`", shared.kernel.name));
        at.map(|at| at as isize).ok_or_else(missing)
    })
}

/// The values that a parameter may take: `*values` leads to `*count` of them, and `*fallback` is the kernel's default, which
/// need not be legal for each problem. Each of the three may be NULL where it is not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_parameter_values(
    predictor: *const Predictor,
    parameter: usize,
    values: *mut *const i64,
    count: *mut usize,
    fallback: *mut i64,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            let shared = &object(predictor, "predictor")?.0;
            let parameter = item(&shared.kernel.parameters, parameter, "parameter")?;
            let known = &parameter.values;
            (!values.is_null()).then(|| put(values, "values", known.as_ptr())).transpose()?;
            (!count.is_null()).then(|| put(count, "count", known.len())).transpose()?;
            (!fallback.is_null()).then(|| put(fallback, "fallback", known[parameter.default])).transpose()?;
        }
        Ok(())
    })
}

/// Number of the fields of a problem. 0 where `predictor` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_field_count(predictor: *const Predictor) -> usize {
    // SAFETY: as the header demands
    guarded_value(0, || Ok(unsafe { object(predictor, "predictor") }?.0.fields.len()))
}

/// Name of a field, counted from 0; NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_field_name(predictor: *const Predictor, field: usize) -> *const c_char {
    guarded_value(std::ptr::null(), || {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor, "predictor") }?.0;
        item(&shared.fields, field, "field").map(|(name, _)| pointer(name))
    })
}

/// A label of a field that is a choice, such as "f32": its number is the field's value. NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_field_label(predictor: *const Predictor, field: usize, label: usize) -> *const c_char {
    guarded_value(std::ptr::null(), || {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor, "predictor") }?.0;
        let (_, labels) = item(&shared.fields, field, "field")?;
        item(labels, label, "label").map(pointer)
    })
}
