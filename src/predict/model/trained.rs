//! A model on disk: one safetensors file with the weights and, in its metadata, everything else.

use crate::confidence::calibration::Calibration;
use crate::confidence::device_calibration::DeviceCalibration;
use crate::confidence::held_out::{HeldOutResult, TrainingRange};
use crate::distilled::comparison::Comparison;
use crate::features::vocabulary::Vocab;
use crate::model::file_format::{
    DESCRIPTION, Decoded, check_replaced, decode, encode, metadata, metadata_of, refuse_dataset,
};
use crate::model::quality::Quality;
use crate::model::settings::{Hparams, Settings};
use crate::model::split::Split;
use crate::network::shapes;
use crate::network::weights::Weights;
use crate::posterior::cost_neighbours::CostNeighbours;
use crate::posterior::error_model::ErrorModel;
use crate::trees::gbdt::Trees;
use safetensors::tensor::Dtype;
use seqtune_kernel::error::{Error, Result, input, io, quote};
use seqtune_kernel::files::{read, write_whole};
use seqtune_kernel::limits::{self, MEMBERS};
use seqtune_kernel::{Device, Objective, is_kernel_name};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything about a model but its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the file format.
    pub format: String,
    /// Sizes of the network.
    pub hparams: Hparams,
    /// Networks whose probabilities are averaged; the weights of member `i` are named `i.…`.
    pub members: usize,
    /// With the kernels that it was made for.
    pub vocab: Vocab,
    /// Devices it was trained on.
    pub devices: Vec<Device>,
    /// Objectives it was trained for.
    pub objectives: Vec<Objective>,
    /// Split of the shapes into training, validation and test.
    pub split: Split,
    /// Hashes of the datasets.
    pub data: Vec<String>,
    /// How it was trained; what stands beside it here is left out of it.
    pub settings: Settings,
    /// [`Model::digest`] of the model that its training went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Scores by name, of the weights kept.
    pub scores: BTreeMap<String, f64>,
    /// What its probabilities are worth; `None` of a model that was made before this was learned.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// What its probabilities are worth by device.
    #[serde(rename = "trust", default, skip_serializing_if = "DeviceCalibration::is_empty")]
    pub device_calibration: DeviceCalibration,
    /// How its errors go together, by kernel; empty where that was not learned.
    #[serde(rename = "likeness", default, skip_serializing_if = "Vec::is_empty")]
    pub error_models: Vec<ErrorModel>,
    /// What was shown of it on problems held out, by kernel, device and objective; empty where that was not recorded.
    #[serde(rename = "shown", default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOutResult>,
    /// Sizes that it learned from, by kernel; empty where that was not recorded.
    #[serde(rename = "reach", default, skip_serializing_if = "Vec::is_empty")]
    pub training_ranges: Vec<TrainingRange>,
    /// Of a small decoder: how it compares with the whole model that it was distilled from, which `parent` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distilled: Option<Comparison>,
    /// Threads of the training: the order of sums, and with it the last digits of weights, depends on them. `None` of a model that was made before
    /// this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Command line of the training.
    pub command: String,
    /// Version of the program that trained it.
    pub tool: String,
    /// Date of the training.
    pub date: String,
}

impl Meta {
    /// Reads the description of a model's folder (or file) without its weights.
    ///
    /// # Errors
    /// [`Error::File`] where there is no model, [`Error::Model`] where it is damaged or of another format.
    pub fn load(path: &Path) -> Result<Meta> {
        let file = file_of(path);
        let metadata = metadata_of(&file)?;
        Meta::refuse_older(&metadata)
            .and_then(|()| Meta::parse(&metadata))
            .map_err(|e| e.or_kind(Error::Model).at_place(file.display()))
    }

    /// Refuses the metadata of a file of another format, with the way out.
    pub(crate) fn refuse_older(metadata: &HashMap<String, String>) -> Result<()> {
        #[derive(Deserialize)]
        struct Versioned {
            format: String,
        }
        let Some(text) = metadata.get(DESCRIPTION) else { return input("is not a seqtune model") };
        match serde_json::from_str(text) {
            Ok(Versioned { format }) if format != FORMAT => input(format!(
                "format {} is not {FORMAT}; scripts/data/convert_files.py FILE converts models of before",
                quote(&format)
            )),
            _ => Ok(()),
        }
    }

    fn parse(metadata: &HashMap<String, String>) -> Result<Meta> {
        let text = metadata.get(DESCRIPTION).map_or("", String::as_str);
        let meta: Meta = serde_json::from_str(text)
            .map_err(|e| Error::Input(format!("its description cannot be read ({e}); train the model again")))?;
        meta.check().map_err(|e| e.at_place("its description; fetch or train it again"))?;
        Ok(meta)
    }

    /// Refuses a description whose parts contradict each other, or that holds numbers that no training finds.
    ///
    /// # Errors
    /// [`Error::Input`] that names the part.
    pub fn check(&self) -> Result<()> {
        self.hparams.check()?;
        self.vocab.check()?;
        self.devices.iter().try_for_each(Device::check)?;
        if let Some(name) = self.kernels().into_iter().find(|name| !is_kernel_name(name)) {
            return input(format!("`{}` is no kernel's name", quote(name)));
        }
        self.calibration
            .map_or(Ok(()), |calibration| calibration.check())
            .and_then(|()| self.device_calibration.check())?;
        self.error_models.iter().try_for_each(ErrorModel::check)?;
        self.held_out.iter().try_for_each(HeldOutResult::check)?;
        if self.distilled.is_some_and(|level| !level.is_sound() || self.members != 1) {
            return input("its comparison with the whole model holds numbers that none finds");
        }
        let Split { test, validation, from, .. } = self.split;
        let shares = [test, validation, from].iter().all(|share| (0.0..=1.0).contains(share));
        match (1..=MEMBERS).contains(&self.members) && shares {
            true => Ok(()),
            false => input(format!("a model has 1 to {MEMBERS} networks, and its split is of shares")),
        }
    }

    /// How it was trained, whole.
    pub fn trained_as(&self) -> Settings {
        Settings {
            hparams: self.hparams,
            members: self.members,
            split: self.split,
            command: self.command.clone(),
            ..self.settings.clone()
        }
    }

    /// Names of the kernels that the model was made for.
    pub fn kernels(&self) -> Vec<&str> {
        self.vocab.kernels.iter().map(|k| k.kernel.as_str()).collect()
    }
}

/// The file of a model that is named by its folder or its file.
fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        // a folder may hold the small decoder alone
        true if !Model::file(path).exists() && Model::small_file(path).exists() => Model::small_file(path),
        true => Model::file(path),
        false => path.to_path_buf(),
    }
}

const FORMAT: &str = "seqtune-model-4";

/// A trained model.
pub struct Model {
    /// Description: everything but weights and trees.
    pub meta: Meta,
    /// Weights of all members, by name.
    #[doc(hidden)]
    pub weights: Weights,
    /// Of models of whole sweeps: for each kernel and objective.
    #[doc(hidden)]
    pub trees: Vec<Arc<Trees>>,
    /// In spaces of few combinations: for each kernel and objective, what answers in the place of the trees.
    #[doc(hidden)]
    pub neighbours: Vec<Arc<CostNeighbours>>,
    /// Checksum of the file that it was read from, in 64 hexadecimal digits; `None` of a model that was just made.
    pub checksum: Option<String>,
}

impl Model {
    /// The file of a model's folder.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join("model.safetensors")
    }

    /// The file of the small decoder in a model's folder.
    pub fn small_file(folder: &Path) -> PathBuf {
        folder.join("distilled.safetensors")
    }

    /// Writes `folder/model.safetensors`, or `folder/distilled.safetensors` of a small decoder, whole or not at all. A small decoder beside a
    /// whole model that is written is removed: it was made of another.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be written, [`Error::File`] where the other cannot be removed, or one of them is no model of ours.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let small = Model::small_file(folder);
        let file = if self.meta.distilled.is_some() { &small } else { &Model::file(folder) };
        let bytes = self.bytes()?;
        check_replaced(&small, true)?;
        if self.meta.distilled.is_none() {
            check_replaced(file, false)?;
        }
        // first: who is stopped in between has a whole model alone, never one beside another's small decoder
        if self.meta.distilled.is_none() && small.is_file() {
            std::fs::remove_file(&small).map_err(io(&small))?;
        }
        write_whole(file, &bytes)
    }

    /// Writes a model over its own file: its description has changed, its weights have not.
    ///
    /// # Errors
    /// As [`Model::save`].
    pub fn rewrite(&self, file: &Path) -> Result<()> {
        write_whole(file, &self.bytes()?)
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let meta = serde_json::to_string(&self.meta).map_err(|e| Error::Failed(format!("writing a model: {e}")))?;
        encode(&self.weights, &self.trees, &self.neighbours, [(DESCRIPTION.into(), meta)].into(), Dtype::I8)
    }

    /// Whether a folder holds a model, whole or distilled.
    fn is_in(folder: &Path) -> bool {
        Model::file(folder).is_file() || Model::small_file(folder).is_file()
    }

    /// Folders of the models in a folder: itself, and those in it of one kernel each.
    ///
    /// # Errors
    /// [`Error::File`] where the folder cannot be read.
    pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
        let mut folders = vec![folder.to_path_buf()];
        if folder.is_dir() {
            let inside = std::fs::read_dir(folder).map_err(io(folder))?.flatten();
            folders.extend(inside.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
        folders.retain(|f| Model::is_in(f));
        folders.sort();
        Ok(folders)
    }

    /// Reads the whole model for a kernel: the one that it has to itself in the folder, otherwise the folder's. The small decoder where
    /// there is nothing else.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where no model of the folder knows the kernel, else as [`Model::load`].
    pub fn load_for(path: &Path, kernel: &str) -> Result<Model> {
        Model::load(&Model::folder_for(path, Some(kernel))?)
    }

    /// As [`Model::load_for`], but as small or as good as asked for. A file is read as it is.
    ///
    /// # Errors
    /// As [`Model::load_for`]; [`Error::File`] where the folder does not hold what is asked for.
    pub fn load_as(path: &Path, kernel: &str, quality: Quality) -> Result<Model> {
        Model::load(&Model::file_for(path, Some(kernel), quality)?)
    }

    /// The file of the model for a kernel, or of the only one there is, as small or as good as asked for; a file is the one itself.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where no model of the folder knows the kernel, or several do; [`Error::File`] where the folder does not hold what is
    /// asked for, [`Error::Model`] where what it holds is damaged.
    pub fn file_for(path: &Path, kernel: Option<&str>, quality: Quality) -> Result<PathBuf> {
        Model::file_as(&Model::folder_for(path, kernel)?, quality)
    }

    fn file_as(folder: &Path, quality: Quality) -> Result<PathBuf> {
        let (whole, small) = (Model::file(folder), Model::small_file(folder));
        let missing = |what: &str| Err(Error::File(format!("{}: it holds {what}", folder.display())));
        match quality {
            _ if !folder.is_dir() => Ok(folder.to_path_buf()),
            Quality::Auto if small.is_file() && whole.is_file() => {
                let is_on_par = Meta::load(&small)?.distilled.is_none_or(|level| level.is_on_par());
                Ok(if is_on_par { small } else { whole })
            }
            Quality::Auto if small.is_file() => Ok(small),
            Quality::Best if small.is_file() && !whole.is_file() => {
                missing("the distilled model alone; leave out --quality best, or train the whole")
            }
            Quality::Auto | Quality::Best => Ok(whole),
            Quality::Fast if small.is_file() => Ok(small),
            Quality::Fast => {
                missing(&format!("no distilled model; `seqtune distil {} DATASETS` makes it", folder.display()))
            }
        }
    }

    /// The folder, or the file, of the model for a kernel: of the kernel's name, or any that knows it.
    fn folder_for(path: &Path, kernel: Option<&str>) -> Result<PathBuf> {
        if let Some(own) = kernel.map(|kernel| path.join(kernel)).filter(|own| Model::is_in(own)) {
            return Ok(own);
        }
        if !path.is_dir() || Model::is_in(path) {
            return Ok(path.to_path_buf());
        }
        let place = path.display();
        let mut folders = Model::folders(path)?;
        if folders.is_empty() {
            let begun = path.join("checkpoint-0.safetensors").exists();
            let way = if begun {
                "its training is not finished; the same `seqtune train` goes on"
            } else {
                "`seqtune train` makes one"
            };
            return Err(Error::File(format!("{place}: no model is in this folder; {way}")));
        }
        if let Some(kernel) = kernel {
            let knows = |folder: &PathBuf| Ok(Meta::load(folder)?.kernels().contains(&kernel));
            let known = folders.iter().map(knows).collect::<Result<Vec<bool>>>()?;
            let mut known = known.into_iter();
            folders.retain(|_| known.next().unwrap_or(false));
        }
        match (&folders[..], kernel) {
            ([only], _) => Ok(only.clone()),
            ([], Some(kernel)) => {
                let others = Model::kernels_in(path)?.join(", ");
                Err(Error::Mismatch(format!("{place}: no model is for kernel {kernel}, only for {others}")))
            }
            (_, Some(kernel)) => {
                let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
                let folders = folders.join(", ");
                Err(Error::Mismatch(format!("{place}: several models are for kernel {kernel}; name one of {folders}")))
            }
            (_, None) => {
                let others = Model::kernels_in(path)?.join(", ");
                Err(Error::Mismatch(format!("{place}: it holds models of several kernels; name one of {others}")))
            }
        }
    }

    /// Names of the kernels that a folder's models were made for.
    ///
    /// # Errors
    /// As [`Meta::load`].
    pub fn kernels_in(path: &Path) -> Result<Vec<String>> {
        let folders = if path.is_dir() { Model::folders(path)? } else { vec![path.to_path_buf()] };
        let mut names = Vec::new();
        for folder in folders {
            names.extend(Meta::load(&folder)?.kernels().into_iter().map(String::from));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Reads a model's folder (or its file).
    ///
    /// # Errors
    /// [`Error::File`] where there is no model, [`Error::Model`] where it is damaged or of another format.
    pub fn load(path: &Path) -> Result<Model> {
        let file = file_of(path);
        refuse_dataset(&file)?;
        let bytes = read(&file, limits::MODEL)?;
        let model = Model::from_bytes(&bytes).map_err(|e| e.at_place(file.display()))?;
        tracing::debug!("{}: {} bytes, {} arrays", file.display(), bytes.len(), model.weights.len());
        Ok(model)
    }

    /// Reads a model from the bytes of its file.
    ///
    /// # Errors
    /// [`Error::Model`] where they are damaged, contradict themselves or are of another format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let whole = || {
            metadata(bytes).and_then(|meta| Meta::refuse_older(&meta))?;
            let Decoded { weights, trees, neighbours, meta, checksum } = decode(bytes)?;
            let meta = Meta::parse(&meta)?;
            shapes::check(&meta.hparams, &meta.vocab, meta.members, meta.distilled.is_some(), &weights)
                .map_err(|e| e.at_place("its weights; fetch or train it again"))?;
            Ok(Model { meta, weights, trees, neighbours, checksum: Some(checksum) })
        };
        whole().map_err(|e: Error| e.or_kind(Error::Model))
    }

    /// The format that this version writes.
    pub fn format() -> String {
        FORMAT.into()
    }
}
