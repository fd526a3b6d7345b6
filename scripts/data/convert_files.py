"""Converts models, packed datasets and journals of before format 4 (models) and 2 (datasets), in place.

    scripts/data/convert_files.py FILE...

What a file holds stays as it is: weights, records, hashes. Where sentences said how something was made, there are fields now; a recipe of
measuring that no version can read any more is kept as its sentence.
"""
import hashlib, json, pathlib, re, shutil, struct, sys, tempfile, zlib

SETTINGS = re.compile(
    r"(?P<members>\d+) x d (?P<width>\d+) heads (?P<heads>\d+) ff (?P<ff>\d+) layers (?P<enc>\d+)\+(?P<dec>\d+); (?P<target>\w+) target, "
    r"tau (?P<tau>[\d.e-]+|NaN); (?P<epochs>\d+) epochs, at most (?P<batch>\d+) problems of (?P<configs>\d+) configs an update; "
    r"(?P<imagined>\d+) imagined problems per measured one; AdamW (?P<rate>[\d.e-]+) cosine, decay (?P<decay>[\d.e-]+), "
    r"dropout (?P<dropout>[\d.e-]+), smoothing (?P<smoothing>[\d.e-]+); head (?P<head>[\d.e-]+)"
    r"(, rank (?P<rank>[\d.e-]+), order (?P<order>[\d.e-]+), beside trees of values and lists)?; (?P<half>bf16|f32); seed (?P<seed>\d+)"
    r"(; from (?P<parent>[0-9a-f]+))?$")


def settings(text):
    found = SETTINGS.match(text)
    if not found:
        raise ValueError(f"its settings cannot be read: {text}")
    f = found.groupdict()
    number = lambda name: float(f[name] or 0)
    read = {"target": f["target"].lower(), "tau": None if f["tau"] == "NaN" else number("tau"), "epochs": int(f["epochs"]),
            "batch": int(f["batch"]) or None, "configs": int(f["configs"]), "rate": number("rate"), "decay": number("decay"),
            "dropout": number("dropout"), "smoothing": number("smoothing"), "bf16": f["half"] == "bf16", "pseudo_labels": int(f["imagined"]),
            "head": number("head"), "rank": number("rank"), "pairwise_weight": number("order"), "seed": int(f["seed"])}
    return read, f["parent"]


def model(bytes_):
    length = struct.unpack("<Q", bytes_[:8])[0]
    header = json.loads(bytes_[8:8 + length])
    meta = json.loads(header["__metadata__"]["seqtune"])
    if meta["format"] not in ("seqtune-model-2", "seqtune-model-3"):
        return None
    stated = header["__metadata__"].get("sha256")
    if stated is not None:
        sha = hashlib.sha256()
        for name in sorted(name for name in header if name != "__metadata__"):
            begin, end = header[name]["data_offsets"]
            sha.update(name.encode())
            sha.update(bytes_[8 + length + begin:8 + length + end])
        if sha.hexdigest()[:32] != stated:
            raise ValueError("its weights are not those that were written; fetch or train it again")
    if meta["format"] == "seqtune-model-2":
        meta["settings"], parent = settings(meta["settings"])
        if parent:
            meta["parent"] = parent
    meta["format"] = "seqtune-model-4"
    # of everything in the file but its own digits
    header["__metadata__"]["sha256"] = "0" * 64
    header["__metadata__"]["seqtune"] = json.dumps(meta, separators=(",", ":"), ensure_ascii=False)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + bytes_[8 + length:]
    key = b'"sha256":"'
    assert text.count(key) == 1, "its description names its checksum"
    at = whole.index(key) + len(key)
    digits = hashlib.sha256(whole[:at] + whole[at + 64:]).hexdigest().encode()
    return whole[:at] + digits + whole[at + 64:]


def header(text):
    read = json.loads(text)
    if read["format"] == "seqtune-dataset-2":
        return None
    if read["format"] != "seqtune-dataset-1":
        raise ValueError(f"its format is {read['format']!r}, which is no dataset's")
    read["format"] = "seqtune-dataset-2"
    sentence = read.pop("policy")
    order = ["format", "kernel", "space", "device", "tool", "seed", "provenance", "command", "date"]
    read["provenance"] = {"described": sentence}
    return json.dumps({key: read[key] for key in order}, separators=(",", ":"), ensure_ascii=False)


def varint(n):
    if n < 251:
        return bytes([n])
    return b"\xfb" + struct.pack("<H", n) if n < 1 << 16 else b"\xfc" + struct.pack("<I", n)


def packed(bytes_):
    plain = zlib.decompress(bytes_[8:])
    first = plain[0]
    length, at = (first, 1) if first < 251 else (struct.unpack("<H", plain[1:3])[0], 3) if first == 251 else (struct.unpack("<I", plain[1:5])[0], 5)
    new = header(plain[at:at + length])
    if new is None:
        return None
    return bytes_[:8] + zlib.compress(varint(len(new.encode())) + new.encode() + plain[at + length:], 9)


def journal(bytes_):
    first, _, rest = bytes_.partition(b"\n")
    new = header(first)
    return None if new is None else new.encode() + b"\n" + rest


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = False
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        try:
            bytes_ = path.read_bytes()
            convert = packed if bytes_[:7] == b"SEQTUNE" else journal if bytes_[:1] == b"{" else model
            new = convert(bytes_)
        except (OSError, ValueError, KeyError, IndexError, TypeError, struct.error, zlib.error) as error:
            print(f"{name}: not converted: {error}", file=sys.stderr)
            failed = True
            continue
        if new is None:
            print(f"{name}: is of this format")
            continue
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".seqtune-", delete=False) as part:
            part.write(new)
        shutil.copymode(path, part.name)
        pathlib.Path(part.name).replace(path)
        print(f"{name}: converted, sha256 {hashlib.sha256(new).hexdigest()[:16]}")
    sys.exit(2 if failed else 0)


main()
