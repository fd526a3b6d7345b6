//! Model files are whole or refused: every bit counts, and a description that was edited is held against the weights.

use crate::common::test_generator;
use rand::Rng;
use safetensors::tensor::Dtype;
use seqtune_predict::model::Decoded;
use seqtune_predict::model::file_format::{decode, encode, metadata};
use seqtune_predict::network::weights::Weights;
use seqtune_predict::{Device, Error, Kernel, Model, Predictor, Query};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const TOY: &str = "src/predict/toy";

fn bytes() -> Vec<u8> {
    std::fs::read(Path::new(TOY).join("model/model.safetensors")).unwrap()
}

/// What comes of a file of these bytes: the first choice for a problem, or the sentence that refuses it.
fn answer(bytes: &[u8]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("model.safetensors");
    std::fs::write(&path, bytes).unwrap();
    let kernel = Kernel::open(TOY).unwrap();
    let device = Device::find_described("A100").unwrap();
    let model = Model::load(&path).inspect_err(|e| assert!(matches!(e, Error::Model(_)), "{e:?}"));
    let predict = |model: Model| {
        let predictor = Predictor::new(&kernel, &model)?;
        let found = predictor.predict_one(&kernel.problem("M=1000")?, &Query::new(&device))?.candidates;
        Ok(format!("{} {}", kernel.show_config(&found[0].config), found[0].probability.unwrap()))
    };
    model.and_then(predict).map_err(|e| e.to_string())
}

#[test]
fn a_file_of_which_any_bit_was_changed_is_refused() {
    let whole = bytes();
    assert!(answer(&whole).is_ok());
    let mut rng = test_generator(1);
    let header = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for i in 0..400 {
        let mut changed = whole.clone();
        // half of them in the description
        let at = if i % 2 == 0 { rng.random_range(0..8 + header) } else { rng.random_range(0..whole.len()) };
        changed[at] ^= 1 << rng.random_range(0..8);
        assert!(answer(&changed).is_err(), "bit of byte {at}");
    }
    for _ in 0..50 {
        assert!(answer(&whole[..rng.random_range(0..whole.len())]).is_err());
    }
    assert!(answer(&[whole.as_slice(), b"x"].concat()).is_err());
}

/// Places of the numbers, texts and lists in a description.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.into());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| places(inner, &format!("{at}/{key}"), found)),
        Value::Array(list) => {
            list.iter().take(3).enumerate().for_each(|(i, inner)| places(inner, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

#[test]
fn a_description_that_was_edited_with_the_right_checksum_is_refused_or_answered_and_never_a_fault() {
    let whole = bytes();
    let Decoded { weights, trees, .. } = decode(&whole).unwrap();
    let description: Value = serde_json::from_str(&metadata(&whole).unwrap()["seqtune"]).unwrap();
    let mut all = Vec::new();
    places(&description, "", &mut all);
    let write = |edited: &Value, weights: &Weights| {
        let meta = HashMap::from([("seqtune".to_string(), edited.to_string())]);
        encode(weights, &trees, &[], meta, Dtype::I8).unwrap()
    };
    assert!(answer(&write(&description, &weights)).is_ok(), "as it is, it is answered");
    let large = serde_json::json!([0, -1, 2.5, 1e300, 68_719_476_736u64, u64::MAX, "", "x", null, [], {}, true]);
    let (mut refused, mut tried) = (0, 0);
    let mut rng = test_generator(2);
    for place in all.iter().filter(|place| !place.is_empty()) {
        for value in large.as_array().unwrap() {
            // all 2,000 take minutes
            if rng.random_range(0..12) > 0 {
                continue;
            }
            let mut edited = description.clone();
            *edited.pointer_mut(place).unwrap() = value.clone();
            tried += 1;
            refused += answer(&write(&edited, &weights)).is_err() as usize;
        }
        // a list turned around, or twice as long
        if let (Some(Value::Array(list)), 0) = (description.pointer(place), rng.random_range(0..2)) {
            for list in [list.iter().rev().cloned().collect(), [list.as_slice(), list].concat()] {
                let mut edited = description.clone();
                *edited.pointer_mut(place).unwrap() = Value::Array(list);
                answer(&write(&edited, &weights)).ok();
            }
        }
    }
    assert!(tried > 100 && refused > tried / 2, "{refused} of {tried}");
    for name in weights.keys().step_by(9) {
        for edit in [|shape: &mut Vec<usize>| shape.reverse(), |shape: &mut Vec<usize>| shape.push(1)] {
            let mut other = weights.clone();
            let array = other.get_mut(name).unwrap();
            let before = array.shape.clone();
            edit(&mut array.shape);
            assert!(before == array.shape || answer(&write(&description, &other)).is_err(), "{name} {before:?}");
        }
        let (mut other, mut fewer) = (weights.clone(), weights.clone());
        other.get_mut(name).unwrap().values[0] = f32::INFINITY;
        fewer.remove(name);
        assert!(answer(&write(&description, &other)).is_err() && answer(&write(&description, &fewer)).is_err());
    }
}

#[test]
fn a_file_of_an_older_format_is_refused_with_the_way_out() {
    let whole = bytes();
    let Decoded { weights, trees, meta, .. } = decode(&whole).unwrap();
    let older = meta["seqtune"].replacen("seqtune-model-4", "seqtune-model-3", 1);
    let written = encode(&weights, &trees, &[], HashMap::from([("seqtune".to_string(), older)]), Dtype::F32).unwrap();
    let sentence = answer(&written).unwrap_err();
    assert!(
        sentence.contains("format seqtune-model-3 is not seqtune-model-4; scripts/data/convert_files.py"),
        "{sentence}"
    );
}
