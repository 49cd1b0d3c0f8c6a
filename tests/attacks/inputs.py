"""Which inputs each format starts from, and the command that reads them."""

import gzip
import json
import os
import subprocess
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = dict(os.environ, SPILLWAY_DATA=ROOT, LC_ALL="C")

OFFERS = b"""name,price,date,source
dram,11,2026-01-02,shop
ssd,440
"990 PRO 4TB",800,,
"""
SPACE = {
    "name": "two",
    "base": {
        "model": "gpt2",
        "machine": "gaming_4090",
        "training": {"sequence": 128},
        "strategy": {"system": "resident"},
    },
    "axes": {
        "strategy.system": ["zero_offload", "resident"],
        "training.micro_batch": [1, 2],
    },
    "objectives": {"step_time_s": "min"},
}
# What reads a database; the last explores the space above into it.
DATABASE_COMMANDS = [
    ["explore", "show", "FILE"],
    ["explore", "show", "FILE", "--why"],
    ["explore", "show", "FILE", "--json"],
    ["explore", "show", "FILE", "--best-per", "strategy.system"],
    ["explore", "show", "FILE", "--price", "dram=3"],
    ["explore", "explain", "FILE", "0"],
    ["report", "FILE:0", "--out", "OUT"],
    ["explore", "two.json", "--db", "FILE"],
]


class Format(NamedTuple):
    """A format of input.

    seeds: valid inputs, as bytes, of which one is drawn.
    suffix: the end of the file's name; ".json" says that the seeds are trees of JSON.
    command: the words that read it; FILE and OUT stand for the paths of the input and the output.
    has_json: whether the command may be asked for its answer in JSON.
    """

    seeds: list
    suffix: str
    command: list
    has_json: bool = False


def read(path):
    """Returns the bytes of a file, whose path may start at the repository's root."""
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


def read_some(folder, count):
    """Returns files of JSON, spread evenly over a folder: `count` of them, or somewhat more."""
    names = sorted(
        name for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(".json")
    )
    step = max(1, len(names) // count)
    return [read(os.path.join(folder, name)) for name in names[::step]]


def described_formats():
    """Returns, by name, the formats of what describes a model, a machine, a run or a space."""
    simulate = ["simulate", "FILE", "--no-remedy", "--limit", "5"]
    explore = ["explore", "FILE", "--db", "x.db", "--slurm", "2"]
    convert = ["import", "FILE", "--model", "gpt2", "--machine", "gaming_4090", "-o", "OUT"]
    data = sorted(os.listdir(os.path.join(ROOT, "tests/data")))
    ds_configs = [read("tests/data/" + name) for name in data if name.startswith("ds_config")]
    return {
        "scenario": Format(read_some("scenarios/examples", 12), ".json", simulate, True),
        "machine": Format(
            read_some("scenarios/machines", 12), ".json", ["machine", "FILE"], True
        ),
        "space": Format(read_some("scenarios/spaces", 6), ".json", explore),
        "ds_config": Format(ds_configs, ".json", convert),
        "hf_config": Format(read_some("models/library", 12), ".json", ["model", "FILE"], True),
    }


def listed_formats():
    """Returns, by name, the formats of prices, traces and open figures."""
    plan = ["plan", "machine", "--model", "gpt2", "--sequence", "128", "--tokens-per-day", "1"]
    plan += ["--budget", "1", "--most", "1", "--limit", "5", "--parts", "FILE"]
    prices = ["simulate", "tiny", "--no-remedy", "--prices", "FILE"]
    packed = read("tests/data/kineto_as_found.json.gz")
    traces = [gzip.decompress(packed), read("tests/data/kineto_two_gpus.json"), packed]
    # The beginning of the list, closed in the midst of a text.
    open_figures = read("tests/fidelity/open.json")[:4000] + b'"}]'
    compare = ["fidelity", "--filter", "none", "--open", "FILE"]
    return {
        "price_list": Format(read_some("scenarios/parts", 4), ".json", plan),
        "offers": Format([OFFERS], ".csv", prices),
        "trace": Format(traces, ".json", ["import", "FILE", "-o", "OUT"]),
        "open_figures": Format([open_figures], ".json", compare),
    }


def written_formats(program, folder):
    """Returns, by name, the formats that the program writes itself and reads again.

    The program runs in `folder`, where two.json stays for commands that explore it.
    """

    def run(*words):
        done = subprocess.run(
            [program, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, check=True
        )
        return done.stdout

    fit = ["fit", "gpt2", "--gpu", "4090", "--ram", "32G", "--context", "128", "--json"]
    answers = [run("simulate", "tiny", "--json", "--no-remedy"), run(*fit)]
    with open(os.path.join(folder, "two.json"), "w", encoding="utf-8") as file:
        json.dump(SPACE, file)
    run("explore", "two.json", "--db", "two.db", "--simulate-all")
    database = read(os.path.join(folder, "two.db"))
    run("import", os.path.join(ROOT, "tests/data/kineto_as_found.json.gz"), "-o", "profile.csv")
    profile = read(os.path.join(folder, "profile.csv"))[:20000]
    return {
        "answer": Format(answers, ".json", ["report", "FILE", "--out", "OUT"]),
        "database": Format([database], ".db", DATABASE_COMMANDS[0]),
        "profile": Format([profile], ".csv", ["lifetimes", "FILE"]),
    }


def all_formats(program, folder):
    """Returns all formats by name; `program` writes some of their seeds into `folder`."""
    return {**described_formats(), **listed_formats(), **written_formats(program, folder)}
