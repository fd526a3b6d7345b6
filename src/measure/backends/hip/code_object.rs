//! Resources of a program for an AMD GPU, from the metadata of its code object: a note with a MessagePack map (LLVM's "User Guide for
//! AMDGPU Backend").

use crate::compile::Job;
use crate::compile::reason::missing;
use object::LittleEndian;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader, SectionHeader};
use seqtune_data::Resources;
use serde::Deserialize;

/// Type of the note named `AMDGPU`.
const NT_AMDGPU_METADATA: NoteType = NoteType(32);

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "amdhsa.kernels")]
    kernels: Vec<KernelMetadata>,
}

#[derive(Deserialize)]
struct KernelMetadata {
    #[serde(rename = ".name")]
    name: String,
    #[serde(rename = ".vgpr_count")]
    vector_registers: u32,
    #[serde(rename = ".sgpr_count")]
    scalar_registers: u32,
    #[serde(rename = ".group_segment_fixed_size")]
    local_bytes: u32,
    #[serde(rename = ".private_segment_fixed_size")]
    private_bytes: u32,
    #[serde(rename = ".vgpr_spill_count", default)]
    spilled_registers: u32,
}

/// Reads the resources of the kernel that `job` names.
///
/// The stack is the private memory, including four bytes for each spilled vector register.
///
/// # Errors
/// A message where the code object is malformed, or lacks metadata or the kernel.
pub fn read(code: &[u8], job: &Job) -> Result<Resources, String> {
    let metadata = note(code).map_err(|e| format!("the code object is not understood: {e}"))?;
    let metadata = metadata.ok_or("the code object has no metadata")?;
    let metadata: Metadata = rmp_serde::from_slice(metadata).map_err(|e| format!("the code object's metadata: {e}"))?;
    let found = metadata.kernels.iter().find(|k| k.name == job.entry);
    let names = || metadata.kernels.iter().map(|k| &k.name[..]).collect::<Vec<_>>();
    let kernel = found.ok_or_else(|| missing(&names(), job))?;
    Ok(Resources {
        registers: kernel.vector_registers,
        scalar_registers: kernel.scalar_registers,
        local_bytes: kernel.local_bytes,
        stack_bytes: kernel.private_bytes,
        spill_bytes: 4 * kernel.spilled_registers,
        ..Resources::default()
    })
}

fn note(code: &[u8]) -> object::Result<Option<&[u8]>> {
    let endian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(code)?;
    for section in header.sections(endian, code)?.iter() {
        let Some(mut notes) = section.notes(endian, code)? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == b"AMDGPU" && note.n_type(endian) == NT_AMDGPU_METADATA {
                return Ok(Some(note.desc()));
            }
        }
    }
    Ok(None)
}
