//! Versions of a kernel: which one data and models are of, and in what it differs.

use crate::definition::Kernel;
use crate::devices::Device;
use crate::identity::{Difference, Identity, of_fields, of_parameters};

impl Kernel {
    /// What gives meaning to a config that `device` runs, by its driver: with the whole source for CUDA and HIP.
    pub fn identity_on(&self, device: &Device) -> &Identity {
        &self.identities[device.compiles_cpp() as usize]
    }

    /// What gives meaning to configs; of the whole source where `whole`.
    pub fn identity(&self, whole: bool) -> &Identity {
        &self.identities[whole as usize]
    }

    /// Digest of everything that gives meaning to a recorded config, as OpenCL compilers read it: [`Identity::digest`]. Data recorded under
    /// another one are not mixed in.
    pub fn space_hash(&self) -> String {
        self.identity(false).digest()
    }

    /// [`Kernel::space_hash`] of what `device` compiles.
    pub fn space_hash_on(&self, device: &Device) -> String {
        self.identity_on(device).digest()
    }

    /// Whether a model or a dataset of that digest and recorded identity is of this version, on some device.
    pub fn has_space(&self, space: &str, recorded: Option<&Identity>) -> bool {
        self.identities.iter().any(|identity| identity.is_of(space, recorded))
    }

    /// What names tell of a version that recorded no more: of its parameters and, where given, its fields.
    pub fn differences_of_names(&self, parameters: &[&str], fields: Option<&[&str]>) -> Vec<Difference> {
        let named = |names: &[&str]| names.iter().map(|name| (name.to_string(), ())).collect::<Vec<_>>();
        let own = |names: Vec<&str>| named(&names);
        let show = |(): &()| String::new();
        let new = own(self.parameters.iter().map(|p| p.name.as_str()).collect());
        let mut all = of_parameters(&named(parameters), &new, &show);
        if let Some(fields) = fields {
            let new = own(self.fields.iter().map(|f| f.name.as_str()).collect());
            all.extend(of_fields(&named(fields), &new, &show));
        }
        let rest = if all.is_empty() { "what differs was not recorded" } else { "what else differs was not recorded" };
        all.push(Difference { text: rest.into(), carries: true });
        all
    }

    /// In what the recorded version is not this one; `None` where that was not recorded.
    pub fn differences(&self, recorded: Option<&Identity>, device: Option<&Device>) -> Option<Vec<Difference>> {
        let recorded = recorded?;
        let each = self.identities.iter().map(|own| recorded.differences(own));
        let nearest = || each.min_by_key(Vec::len).unwrap_or_default();
        let all = device.map_or_else(nearest, |device| recorded.differences(self.identity_on(device)));
        Some(self.with_files(all))
    }

    /// In what a version that was found later is not this one, the whole source compared.
    pub fn differences_to(&self, found: &Identity) -> Vec<Difference> {
        self.with_files(self.identity(true).differences(found))
    }

    /// Whether its folder still holds this version, which is true of a kernel inside the program.
    pub fn is_as_opened(&self) -> bool {
        let Some(folder) = self.folder() else { return true };
        let now = Kernel::open(&folder.display().to_string());
        now.is_ok_and(|now| now.identity(true).digest() == self.identity(true).digest())
    }

    /// Names the files of sources that differ.
    fn with_files(&self, all: Vec<Difference>) -> Vec<Difference> {
        let Some(source) = &self.source else { return all };
        let (program, reference) = (&source.program.file, &source.reference.file);
        let named = |Difference { text, carries }| {
            let text = text.replacen("the source d", &format!("the source {program} d"), 1);
            let text = text.replacen("the reference d", &format!("the reference {reference} d"), 1);
            Difference { text, carries }
        };
        all.into_iter().map(named).collect()
    }
}
