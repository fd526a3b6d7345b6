//! LightGBM (Ke et al. 2017), opened at run time: the boosted trees that models are compared with.
//!
//! Its crates want a newer CMake than most systems have; the shared library of its Python wheel needs nothing.
//! `scripts/setup.sh` fetches it.

use libloading::Library;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::fetched::fetched_places;
use std::ffi::{CStr, CString, c_char, c_double, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

type Handle = *mut c_void;
type CreateFromMat =
    unsafe extern "C" fn(*const c_void, c_int, i32, i32, c_int, *const c_char, Handle, *mut Handle) -> c_int;
type SetField = unsafe extern "C" fn(Handle, *const c_char, *const c_void, c_int, c_int) -> c_int;
type BoosterCreate = unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> c_int;
type AddValid = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Update = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type GetEval = unsafe extern "C" fn(Handle, c_int, *mut c_int, *mut c_double) -> c_int;
type Predict = unsafe extern "C" fn(
    Handle,
    *const c_void,
    c_int,
    i32,
    i32,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_char,
    *mut i64,
    *mut c_double,
) -> c_int;
type Free = unsafe extern "C" fn(Handle) -> c_int;
type LastError = unsafe extern "C" fn() -> *const c_char;

/// The library.
#[derive(Clone)]
pub struct LightGbm(Arc<Library>);

/// Rows of numbers with a label each.
#[derive(Default)]
pub struct Samples {
    /// Row after row.
    pub rows: Vec<f64>,
    /// Numbers of a row.
    pub columns: usize,
    /// Class, value or relevance.
    pub labels: Vec<f32>,
    /// Rows of each query that is ranked, in their order; empty where nothing is.
    pub groups: Vec<i32>,
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// One of so many classes, by its probability.
    Classes(usize),
    /// A value, by least squares.
    Regression,
    /// An order within each group (LambdaMART, Burges 2010).
    Ranking,
}

/// Fitted trees.
pub struct Trees {
    library: LightGbm,
    booster: Handle,
    train: Handle,
    valid: Handle,
    /// Numbers that a row is answered with.
    outputs: usize,
    rounds: c_int,
    columns: usize,
}

const FLOAT32: c_int = 0;
const FLOAT64: c_int = 1;
const INT32: c_int = 2;

impl LightGbm {
    /// Opens `$SEQTUNE_LIGHTGBM`, `.lightgbm/lib_lightgbm.so` or the system's library.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it is not installed.
    pub fn open() -> Result<LightGbm> {
        let named = std::env::var("SEQTUNE_LIGHTGBM").ok();
        let mut places: Vec<String> = named.into_iter().collect();
        let fetched = fetched_places(".lightgbm/lib_lightgbm.so").into_iter();
        places.extend(fetched.map(|place| place.display().to_string()).chain(["lib_lightgbm.so".into()]));
        for place in &places {
            // SAFETY: loading runs the library's initialisers, which is what loading LightGBM means
            if let Ok(library) = unsafe { Library::new(place) } {
                return Ok(LightGbm(Arc::new(library)));
            }
        }
        Err(Error::Unavailable(format!(
            "LightGBM is not installed (looked for {}): run scripts/setup.sh, or name its shared library in SEQTUNE_LIGHTGBM",
            places.join(", ")
        )))
    }

    fn function<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: the types above are those of LightGBM's c_api.h, stable since version 3
        unsafe { self.0.get::<T>(name.as_bytes()) }
            .map(|symbol| *symbol)
            .map_err(|e| Error::Unavailable(format!("LightGBM has no {name}: {e}")))
    }

    fn check(&self, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let last: LastError = self.function("LGBM_GetLastError")?;
        // SAFETY: the library returns a string that ends with 0 and lives until its next call
        let text = unsafe { CStr::from_ptr(last()) }.to_string_lossy().into_owned();
        Err(Error::Failed(format!("LightGBM: {text}")))
    }

    fn dataset(&self, samples: &Samples, parameters: &CStr, reference: Handle) -> Result<Handle> {
        let create: CreateFromMat = self.function("LGBM_DatasetCreateFromMat")?;
        let set: SetField = self.function("LGBM_DatasetSetField")?;
        let n = samples.labels.len() as i32;
        let mut dataset = null_mut();
        // SAFETY: the pointers are to n rows of `columns` numbers and n labels, which live through the calls
        unsafe {
            let data = samples.rows.as_ptr().cast();
            self.check(create(
                data,
                FLOAT64,
                n,
                samples.columns as i32,
                1,
                parameters.as_ptr(),
                reference,
                &mut dataset,
            ))?;
            self.check(set(dataset, c"label".as_ptr(), samples.labels.as_ptr().cast(), n, FLOAT32))?;
            if !samples.groups.is_empty() {
                let groups = samples.groups.len() as c_int;
                self.check(set(dataset, c"group".as_ptr(), samples.groups.as_ptr().cast(), groups, INT32))?;
            }
        }
        Ok(dataset)
    }

    /// Fits trees until the loss on `valid` has not improved for a while.
    ///
    /// # Errors
    /// [`Error::Failed`] where LightGBM refuses the samples, [`Error::Unavailable`] where it lacks a function.
    pub fn fit(&self, train: &Samples, valid: &Samples, task: Task, threads: usize, seed: u64) -> Result<Trees> {
        let Recipe { objective, outputs, most, patience } = task.recipe();
        let parameters = format!(
            "{objective} feature_fraction=0.7 bagging_fraction=0.8 bagging_freq=1 num_threads={threads} seed={seed} \
             deterministic=true force_row_wise=true verbosity=-1"
        );
        let parameters = CString::new(parameters).map_err(|e| Error::Failed(format!("LightGBM: {e}")))?;
        let mut trees = Trees {
            library: self.clone(),
            booster: null_mut(),
            train: self.dataset(train, &parameters, null_mut())?,
            valid: null_mut(),
            outputs,
            rounds: 0,
            columns: train.columns,
        };
        trees.valid = self.dataset(valid, &parameters, trees.train)?;
        let (create, add): (BoosterCreate, AddValid) =
            (self.function("LGBM_BoosterCreate")?, self.function("LGBM_BoosterAddValidData")?);
        // SAFETY: the handles were made above and are freed with the trees
        unsafe {
            self.check(create(trees.train, parameters.as_ptr(), &mut trees.booster))?;
            self.check(add(trees.booster, trees.valid))?;
        }
        trees.rounds = trees.boost(task, most, patience)?;
        Ok(trees)
    }
}

/// Parameters of a task, and when its fit ends.
struct Recipe {
    objective: String,
    /// Numbers per answer.
    outputs: usize,
    /// Rounds at most, and rounds without a better loss.
    most: c_int,
    patience: c_int,
}

impl Task {
    fn recipe(self) -> Recipe {
        let (objective, outputs, most, patience) = match self {
            // many classes make a tree each per round; without the penalty on leaves, rare classes run away
            Task::Classes(n) => (
                format!("objective=multiclass metric=multi_logloss num_class={n} learning_rate=0.06 num_leaves=31 min_data_in_leaf=20 lambda_l2=1"),
                n,
                if n > 40 { 200 } else { 400 },
                20,
            ),
            Task::Regression => (
                "objective=regression metric=l2 learning_rate=0.05 num_leaves=63 min_data_in_leaf=20".into(),
                1,
                1_500,
                50,
            ),
            Task::Ranking => (
                "objective=lambdarank metric=ndcg eval_at=3 lambdarank_truncation_level=10 learning_rate=0.05 num_leaves=63 min_data_in_leaf=20".into(),
                1,
                1_500,
                100,
            ),
        };
        Recipe { objective, outputs, most, patience }
    }
}

impl Trees {
    /// Adds rounds until the validation loss has not improved for `patience` of them, and returns the best round.
    fn boost(&self, task: Task, most: c_int, patience: c_int) -> Result<c_int> {
        let (update, eval): (Update, GetEval) =
            (self.library.function("LGBM_BoosterUpdateOneIter")?, self.library.function("LGBM_BoosterGetEval")?);
        let mut best = (f64::INFINITY, 0);
        for round in 1..=most {
            let (mut finished, mut count, mut loss) = (0, 0, [0.0; 4]);
            // SAFETY: one metric was asked for, so one number is written
            unsafe {
                self.library.check(update(self.booster, &mut finished))?;
                self.library.check(eval(self.booster, 1, &mut count, loss.as_mut_ptr()))?;
            }
            // the metric of a ranking rises as it improves
            let loss = if task == Task::Ranking { -loss[0] } else { loss[0] };
            if loss < best.0 {
                best = (loss, round);
            }
            if finished != 0 || round >= best.1 + patience {
                break;
            }
        }
        Ok(best.1.max(1))
    }

    /// The answers, row after row: probabilities of the classes, the value, or what orders.
    ///
    /// # Errors
    /// [`Error::Failed`] where LightGBM refuses the rows.
    pub fn predict(&self, rows: &[f64], threads: usize) -> Result<Vec<f64>> {
        let n = rows.len() / self.columns;
        let mut out = vec![0.0; n * self.outputs];
        let predict: Predict = self.library.function("LGBM_BoosterPredictForMat")?;
        let parameters = CString::new(format!("num_threads={threads} verbosity=-1")).unwrap_or_default();
        let mut written = 0;
        // SAFETY: `out` has room for all of them
        let code = unsafe {
            predict(
                self.booster,
                rows.as_ptr().cast(),
                FLOAT64,
                n as i32,
                self.columns as i32,
                1,
                0,
                0,
                self.rounds,
                parameters.as_ptr(),
                &mut written,
                out.as_mut_ptr(),
            )
        };
        self.library.check(code)?;
        Ok(out)
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        let booster = self.library.function::<Free>("LGBM_BoosterFree");
        let dataset = self.library.function::<Free>("LGBM_DatasetFree");
        // SAFETY: each handle was made by the library and is freed once
        unsafe {
            if let (Ok(free), false) = (booster, self.booster.is_null()) {
                free(self.booster);
            }
            for handle in [self.train, self.valid] {
                if let (Ok(free), false) = (&dataset, handle.is_null()) {
                    free(handle);
                }
            }
        }
    }
}
