"""Language models: counts equal to the published ones, names, pairs and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.errors import ConfigError
from ahasd.models.language_files import (
    DEFAULT_PAIR,
    PAIRS,
    language_model,
    list_language_models,
    load_language_model,
    pair,
)

TABLE = [
    # name, parameters, KV bytes a token, bytes a pass
    ("opt-1.3b", 1_315_758_080, 98_304, 1_310_916_608),
    ("opt-6.7b", 6_658_473_984, 262_144, 6_648_365_056),
    ("llama2-7b", 6_738_415_616, 262_144, 6_607_077_376),
    ("llama2-13b", 13_015_864_320, 409_600, 12_851_609_600),
    ("sheared-1.3b", 1_345_423_360, 98_304, 1_279_787_008),
    ("tinyllama-1.1b", 1_100_048_384, 11_264, 1_034_420_224),
    ("palm-8b", 8_632_012_800, 16_384, 8_631_877_632),
    ("palm-62b", 62_495_662_080, 32_768, 62_495_129_600),
    ("palm-30b", 30_408_957_952, 15_360, 30_408_704_000),
    ("palm-30b-40l", 39_846_223_872, 20_480, 39_845_888_000),
]


@pytest.mark.parametrize(("name", "parameters", "kv", "streamed"), TABLE)
def test_published_counts(name: str, parameters: int, kv: int, streamed: int) -> None:
    model = language_model(name)
    assert (model.parameters, model.kv_bytes_per_token, model.streamed_bytes) == (parameters, kv, streamed)


def test_every_model_is_in_the_table() -> None:
    assert list_language_models() == sorted(name for name, *_ in TABLE)


@pytest.mark.parametrize(("name", "count"), [("opt-1.3b", 6), ("llama2-7b", 7), ("palm-8b", 4)])
def test_gemvs_of_a_layer(name: str, count: int) -> None:
    model = language_model(name)
    assert len(model.gemvs) == count
    assert sum(g.out * g.inp for g in model.gemvs) == model.layer_bytes


def test_nonlinear_operators() -> None:
    model = language_model("llama2-7b")
    llama = {op.name: op.elements for op in (*model.elementwise, model.softmax(100))}
    assert llama == {
        "norm": 4096,
        "rope": 8192,
        "softmax": 3200,
        "residual": 8192,
        "activation": 22016,
    }
    names = [op.name for op in language_model("palm-8b").elementwise]
    assert names == ["norm", "rope", "activation", "residual"]
    names = [op.name for op in language_model("opt-1.3b").elementwise]
    assert names == ["norm", "residual", "norm", "activation", "residual"]


def test_pairs() -> None:
    assert DEFAULT_PAIR in PAIRS
    for name, members in PAIRS.items():
        assert tuple(model.name for model in pair(name)) == members
    assert [m.name for m in pair("tinyllama-1.1b/llama2-13b")] == ["tinyllama-1.1b", "llama2-13b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("llama2-7b/14b", r"pair 'llama2-7b/14b': expected DRAFT/TARGET of known models"),
        ("lama2-7b/llama2-13b", "near: .*llama2-7b"),
        ("llama2-7b", "expected DRAFT/TARGET"),
        ("", "expected DRAFT/TARGET"),
    ],
)
def test_bad_pairs(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pair(name)


def test_pairs_with_files(tmp_path: Path) -> None:
    """Commas separate where a part may be a path; names and files mix."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "mine.toml").write_text(
        "layers = 2\nhidden = 64\nheads = 4\nkv_heads = 4\nhead_dim = 16\nffn = 256\nvocab = 1000\n"
    )
    draft, target = pair(f"{tmp_path}/mine.toml,llama2-13b")
    assert (draft.name, draft.hidden, target.name) == ("mine", 64, "llama2-13b")
    for text in (f"{tmp_path}/config.json", str(tmp_path)):
        assert pair(f"tinyllama-1.1b, {text}")[1].parameters == language_model("llama2-7b").parameters
    assert pair("tinyllama-1.1b,llama2-13b") == pair("tinyllama-1.1b/llama2-13b")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./none.toml,llama2-13b", r"none\.toml: cannot be read"),
        ("lama2-7b,llama2-13b", r"model 'lama2-7b': neither a file .*; near: llama2-7b"),
        (",llama2-13b", r"model '': neither a file"),
        ("llama2-7b,llama2-7b,llama2-13b", r"3 models, expected DRAFT,TARGET"),
        ("mine.toml/llama2-13b", r"or DRAFT,TARGET with files"),
    ],
)
def test_bad_pairs_with_files(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pair(name)


def test_unknown_model() -> None:
    with pytest.raises(ConfigError, match=r"model 'llama-7b': unknown; near: llama2-7b"):
        language_model("llama-7b")


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}
OPT = {
    "model_type": "opt",
    "hidden_size": 2048,
    "num_hidden_layers": 24,
    "num_attention_heads": 32,
    "ffn_dim": 8192,
    "vocab_size": 50272,
    "max_position_embeddings": 2048,
    "word_embed_proj_dim": 2048,
}


@pytest.mark.parametrize(("config", "name"), [(LLAMA, "llama2-7b"), (OPT, "opt-1.3b")])
def test_hugging_face_configs(tmp_path: Path, config: dict[str, Any], name: str) -> None:
    (tmp_path / name).mkdir()
    path = tmp_path / name / "config.json"
    path.write_text(json.dumps(config))
    assert load_language_model(path) == language_model(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2', expected 'llama' or 'opt'"),
        ({"attention_bias": True}, "attention_bias is True, expected False"),
        ({"hidden_size": 4097}, "hidden_size is 4097, expected a multiple of num_attention_heads"),
        ({"num_key_value_heads": 5}, "heads: 32 must be a multiple of kv_heads = 5"),
        ({"vocab_size": 1 << 20}, r"vocab: 1048576 must be an integer in 2\.\.262144"),
        ({"hidden_act": "tanh"}, "activation: 'tanh' must be one of relu, gelu, silu"),
    ],
)
def test_bad_configs(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA | change))
    with pytest.raises(ConfigError, match=message) as caught:
        load_language_model(path)
    assert str(caught.value).startswith(str(path))


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    keys = "layers = 2\nhidden = 64\nheads = 4\nkv_heads = 2\nhead_dim = 16\nffn = 128\nvocab = 100\n"
    path.write_text(keys)
    assert load_language_model(path).name == "mine"
    path.write_text('name = "other"\n' + keys)
    assert load_language_model(path).name == "other"
    path.write_text(keys + "kv_head = 1\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: mine\.kv_head: unknown key; near: kv_heads"):
        load_language_model(path)
    path.write_text("layers = 2\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: mine: no key hidden"):
        load_language_model(path)
    path.write_text("layers = = 2\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: not TOML"):
        load_language_model(path)
    with pytest.raises(ConfigError, match="No such file"):
        load_language_model(tmp_path / "none.toml")
