"""Files of others that are overwritten."""

from .case import Case, FAKE, journal


def others_files(_):
    kind = "files of others"

    def beside(path):
        path.write_text("remember the milk")

    def link(path):
        (path.parent / "note.txt").write_text("remember the milk")
        path.symlink_to("note.txt")

    def folder_(path):
        path.mkdir()

    made_data = journal(lambda lines: lines, "d.jsonl")
    writers = (
        ["export", "dataset", "d.jsonl", "-o"],
        ["export", "csv", "d.jsonl", "-o"],
        ["export", "parquet", "d.jsonl", "-o"],
        ["export", "t4", "d.jsonl", "-o"],
        ["sweep", "merge", "d.jsonl", "-o"],
    )
    for words in writers:
        for what, place in (("a note", beside), ("a link to a note", link), ("a folder", folder_)):
            for more in ([], ["--overwrite"]):
                yield Case(kind, f"{' '.join(words[:2])} over {what} {' '.join(more)}", [*words, "x", *more], {"x": place}, run=made_data)
        yield Case(
            kind,
            f"{' '.join(words[:2])} over what is read",
            [*words, "d.jsonl", "--overwrite"],
            run=made_data,
            status=(0, 2) if words[:2] == ["export", "dataset"] else (2,),
            changes=("d.jsonl",) if words[:2] == ["export", "dataset"] else (),
        )
        yield Case(kind, f"{' '.join(words[:2])} into no folder", [*words, "none/x.sqt"], run=made_data, status=(0, 1, 2))
    for output in ("..", ".", "in/..", "in", "note.txt"):
        files = {"in": folder_, "note.txt": beside}
        yield Case(
            kind,
            f"sweep --shard 1/2 -o {output}",
            [*FAKE[:7], output, *FAKE[8:], "--shard", "1/2"],
            files,
            (2,) if output != "note.txt" else (0, 2),
            ("note.1-of-2.txt", "note.txt.1-of-2.jsonl"),
        )
        if output != "note.txt":
            yield Case(kind, f"sweep -o {output}", [*FAKE[:7], output, *FAKE[8:]], files)
    yield Case(kind, "sweep -o over a note", [*FAKE[:7], "x", *FAKE[8:]], {"x": beside})
    yield Case(kind, "sweep -o over a link to a note", [*FAKE[:7], "x", *FAKE[8:]], {"x": link})
    for name in ("distilled.safetensors", "model.safetensors"):
        for what, place in (("a note", beside), ("a link to a note", link)):
            yield Case(kind, f"train: {name} is {what}", ["train", "d.jsonl", "-o", "m", "--epochs", "1"], {f"m/{name}": place}, run=made_data, status=(2, 3))
    yield Case(
        kind,
        "init into a folder with a kernel.toml",
        ["init", "k", "--command", "a {n} {A}", "--field", "n=1..9", "--parameter", "A=1,2"],
        {"k/kernel.toml": "# mine"},
    )
    yield Case(
        kind,
        "init into a folder whose kernel.toml is a link",
        ["init", "k", "--command", "a {n} {A}", "--field", "n=1..9", "--parameter", "A=1,2"],
        {"k/kernel.toml": link},
    )
