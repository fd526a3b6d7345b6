//! Formats of numbers in buffers.

/// Format of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// Brain floating point (bfloat16).
    Bf16,
}

impl Format {
    /// Format of an element of `bytes` bytes; `None` where there is none of this size.
    pub fn from_width(bytes: f64, is_bf16: bool) -> Option<Format> {
        match (bytes, is_bf16) {
            (2.0, true) => Some(Format::Bf16),
            (2.0, false) => Some(Format::F16),
            (4.0, false) => Some(Format::F32),
            _ => None,
        }
    }

    /// Name of the macro that tells sources of it.
    pub fn macro_name(self) -> &'static str {
        match self {
            Format::F32 => "FORMAT_F32",
            Format::F16 => "FORMAT_F16",
            Format::Bf16 => "FORMAT_BF16",
        }
    }

    /// Size of an element in bytes.
    pub fn bytes(self) -> usize {
        if self == Format::F32 { 4 } else { 2 }
    }

    /// Decodes an element.
    pub fn read(self, bytes: &[u8]) -> f64 {
        match self {
            Format::F32 => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as f64,
            Format::F16 => half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
            Format::Bf16 => f32::from_le_bytes([0, 0, bytes[0], bytes[1]]) as f64,
        }
    }

    /// Encodes a number, rounded to nearest (bf16: towards zero).
    pub fn write(self, value: f64, bytes: &mut [u8]) {
        match self {
            Format::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
            Format::F16 => bytes.copy_from_slice(&half::f16::from_f64(value).to_le_bytes()),
            Format::Bf16 => bytes.copy_from_slice(&(value as f32).to_le_bytes()[2..]),
        }
    }

    /// Largest finite number.
    pub fn largest(self) -> f64 {
        match self {
            Format::F16 => half::f16::MAX.to_f64(),
            Format::F32 | Format::Bf16 => f32::MAX as f64,
        }
    }
}
