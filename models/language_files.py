"""Language models by name, by pair, from TOML and from a Hugging Face ``config.json``."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.settings import near

__all__ = ["DEFAULT_PAIR", "PAIRS", "language_model", "list_language_models", "load_language_model", "pair"]

DEFAULT_PAIR = "llama2-7b/13b"
PAIRS = {
    "opt-1.3b/6.7b": ("opt-1.3b", "opt-6.7b"),
    "llama2-7b/13b": ("llama2-7b", "llama2-13b"),
    "palm-8b/30b": ("palm-8b", "palm-30b"),
    "sheared-1.3b/7b": ("sheared-1.3b", "llama2-7b"),
}
"""Short names of pairs: draft and target."""


@functools.cache
def _registry() -> dict[str, LanguageModel]:
    path = Path(__file__).parent / "data" / "language_models.toml"
    return {name: _build(name, table, str(path)) for name, table in _toml(path).items()}


def list_language_models() -> list[str]:
    """Names that ``language_model`` takes."""
    return sorted(_registry())


def language_model(name: str) -> LanguageModel:
    """The model called ``name``.

    Raises
    ------
    ConfigError
        If there is none; near names are listed.
    """
    models = _registry()
    if name not in models:
        raise ConfigError(f"model {name!r}: unknown; near: {near(name, models)}")
    return models[name]


def pair(name: str) -> tuple[LanguageModel, LanguageModel]:
    """Draft and target model of a pair.

    A short name of ``PAIRS``; ``DRAFT/TARGET`` of known models; or ``DRAFT,TARGET``, each a known model, a
    file (``.toml``, ``.json``) or a folder with a ``config.json``: ``./mine.toml,llama2-13b``.

    Raises
    ------
    ConfigError
        If it is none of these, or a file is wrong.
    """
    if name in PAIRS:
        draft, target = PAIRS[name]
        return language_model(draft), language_model(target)
    if "," in name:
        members = [_member(part.strip()) for part in name.split(",")]
        if len(members) != 2:
            raise ConfigError(f"pair {name!r}: {len(members)} models, expected DRAFT,TARGET")
        return members[0], members[1]
    draft, slash, target = name.partition("/")
    if not slash or draft not in _registry() or target not in _registry():
        wrong = draft if slash and draft not in _registry() else target if slash else name
        hints = near(wrong, [*_registry(), *PAIRS])
        raise ConfigError(
            f"pair {name!r}: expected DRAFT/TARGET of known models, or DRAFT,TARGET with files; near: {hints}"
        )
    return language_model(draft), language_model(target)


def _member(text: str) -> LanguageModel:
    """A model by name, file or folder."""
    path = Path(text)
    if path.suffix in (".toml", ".json"):
        return load_language_model(path)
    if text in _registry():
        return language_model(text)
    if path.name and path.is_dir():
        return load_language_model(path / "config.json")
    raise ConfigError(
        f"model {text!r}: neither a file (.toml, .json), a folder with a config.json nor a known model; "
        f"near: {near(text, _registry())}"
    )


def load_language_model(path: str | Path) -> LanguageModel:
    """A user's model: TOML with the keys of ``LanguageModel``, or a ``config.json`` of type llama or opt.

    Its name is the key ``name``, else that of the file or, for ``config.json``, of its folder.

    Raises
    ------
    ConfigError
        If the file cannot be read, a key is missing or unknown, or a value is out of range.
    """
    path = Path(path)
    if path.suffix == ".json":
        return _build(path.resolve().parent.name, _from_hugging_face(_json(path), str(path)), str(path))
    table = _toml(path)
    return _build(str(table.pop("name", path.stem)), table, str(path))


def _build(name: str, table: Mapping[str, Any], path: str) -> LanguageModel:
    known = LanguageModel.__dataclass_fields__
    for key in table:
        if key not in known or key == "name":
            raise ConfigError(f"{path}: {name}.{key}: unknown key; near: {near(key, known)}")
    for key in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab"):
        if key not in table:
            raise ConfigError(f"{path}: {name}: no key {key}")
    try:
        return LanguageModel(name=name, **table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {name}.{error}") from None


def _from_hugging_face(config: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The keys of ``LanguageModel`` from those of a ``config.json``."""

    def need(key: str) -> Any:
        if key not in config:
            raise ConfigError(f"{path}: no key {key}")
        return config[key]

    def refuse(key: str, default: Any, allowed: Any) -> None:
        if config.get(key, default) != allowed:
            raise ConfigError(f"{path}: {key} is {config[key]!r}, expected {allowed!r}")

    kind = config.get("model_type")
    if kind not in ("llama", "opt"):
        raise ConfigError(f"{path}: model_type is {kind!r}, expected 'llama' or 'opt'")
    heads, hidden = need("num_attention_heads"), need("hidden_size")
    if not isinstance(heads, int) or not isinstance(hidden, int) or heads < 1 or hidden % heads:
        raise ConfigError(f"{path}: hidden_size is {hidden!r}, expected a multiple of num_attention_heads")
    common = {
        "layers": need("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "head_dim": config.get("head_dim") or hidden // heads,
        "vocab": need("vocab_size"),
        "max_context": config.get("max_position_embeddings", 2048),
    }
    if kind == "llama":
        refuse("attention_bias", False, False)
        refuse("mlp_bias", False, False)
        return common | {
            "kv_heads": config.get("num_key_value_heads") or heads,
            "ffn": need("intermediate_size"),
            "activation": config.get("hidden_act", "silu"),
            "gated": True,
            "tied": config.get("tie_word_embeddings", False),
        }
    refuse("word_embed_proj_dim", hidden, hidden)
    refuse("do_layer_norm_before", True, True)
    refuse("enable_bias", True, True)
    return common | {
        "kv_heads": heads,
        "ffn": need("ffn_dim"),
        "norm": "layernorm",
        "activation": config.get("activation_function", "relu"),
        "tied": config.get("tie_word_embeddings", True),
        "bias": True,
        "positions": common["max_context"] + 2,
    }


def _toml(path: Path) -> dict[str, Any]:
    return _parsed(path, tomllib.loads, "TOML")


def _json(path: Path) -> dict[str, Any]:
    return _parsed(path, json.loads, "JSON")


def _parsed(path: Path, parse: Any, form: str) -> dict[str, Any]:
    try:
        data = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not {form} ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected a table of keys")
    return data
