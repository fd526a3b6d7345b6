//! Convolutions as their users see them: sizes of the image, whatever the direction.

use crate::formats::miopen::convolution::{AXES, Convolution, NO_ROOM, Sizes, check_sizes, output_along, place_of};
use seqtune_kernel::error::{Result, input};

/// A convolution's layer: `C`, `H` and `W` are those of its input and `K` of its output, in all directions.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub dimensions: u32,
    pub dtype: String,
    pub layout: String,
    /// In the order of `SIZES`.
    pub sizes: Sizes,
}

fn index(name: &str) -> usize {
    place_of(name).unwrap_or(0)
}

impl Layer {
    /// The layer that a convolution works on. Of keys that lack the output's size it is the smallest that fits.
    pub fn from_convolution(convolution: &Convolution) -> Layer {
        let Convolution { dimensions, dtype, layout, sizes, output, direction, .. } = convolution;
        let mut layer = Layer { dimensions: *dimensions, dtype: dtype.clone(), layout: layout.clone(), sizes: *sizes };
        if direction != "F" {
            layer.sizes.swap(index("C"), index("K"));
            let image = output.unwrap_or_else(|| convolution.smallest_output());
            for ([size, ..], image) in AXES.iter().zip(image) {
                layer.sizes[index(size)] = image;
            }
        }
        layer
    }

    /// Depth, rows and columns of its output; `None` where the filter does not fit into the padded image.
    fn output(&self) -> Option<[u32; 3]> {
        let mut output = [0; 3];
        for (result, axis) in output.iter_mut().zip(AXES) {
            *result = output_along(axis.map(|name| self.sizes[index(name)]))?;
        }
        Some(output)
    }

    /// The convolution of a direction, kernel-side as databases have it.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where a size is out of range, the groups do not divide the channels, or the filter does
    /// not fit into the padded image.
    pub fn in_direction(&self, direction: &str) -> Result<Convolution> {
        check_sizes(&self.sizes)?;
        let Some(output) = self.output() else { return input(NO_ROOM) };
        let mut sizes = self.sizes;
        let mut result = output;
        if direction != "F" {
            sizes.swap(index("C"), index("K"));
            for (at, [size, ..]) in AXES.iter().enumerate() {
                result[at] = self.sizes[index(size)];
                sizes[index(size)] = output[at];
            }
        }
        Ok(Convolution {
            direction: direction.into(),
            dtype: self.dtype.clone(),
            layout: self.layout.clone(),
            dimensions: self.dimensions,
            sizes,
            output: Some(result),
            beyond: String::new(),
        })
    }
}
