"""Hugging Face models on disk as :class:`ahasd.models.recording.CausalModel`, and sets recorded from them.

torch and transformers are imported when a model is opened (``pip install 'ahasd[record]'``).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import ConfigError, ToolError
from ahasd.models.recording import Progress, RecordSettings, record
from ahasd.models.trace_files import new_folder, write_set

__all__ = ["HfModel", "record_set"]

TOKEN_LIMIT = 1 << 18
"""Ids that a trace can hold."""


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolError(f"recording needs {name} ({error}): pip install 'ahasd[record]'") from None


def _load(kind: str, folder: Path) -> Any:
    """``AutoTokenizer`` or ``AutoModelForCausalLM`` of a folder; nothing is fetched."""
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{folder}: no config.json, expected a folder with a Hugging Face model")
    transformers = _import("transformers")
    transformers.utils.logging.disable_progress_bar()
    try:
        return getattr(transformers, kind).from_pretrained(folder, local_files_only=True)
    except Exception as error:  # a damaged file: of safetensors, pickle or the tokenizer, each its own kind
        raise ConfigError(f"{folder}: {kind} cannot be loaded ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class HfModel:
    """A causal language model from a folder, in float32 on the CPU, with its KV cache.

    Special tokens (end of text and the like) are never said, so that the text runs as long as asked.

    Parameters
    ----------
    folder : Path
    tokenizer
        Of ``transformers``; its ids are the vocabulary.

    Raises
    ------
    ToolError
        If torch or transformers is missing.
    ConfigError
        If ``folder`` holds no model that can be loaded.
    """

    def __init__(self, folder: Path, tokenizer: Any) -> None:
        self.folder = folder
        self._torch = _import("torch")
        self._transformers = _import("transformers")
        self._model = _load("AutoModelForCausalLM", folder).to(self._torch.float32).eval()
        self.vocabulary = min(len(tokenizer), int(self._model.config.vocab_size))
        if not 2 <= self.vocabulary <= TOKEN_LIMIT:
            raise ConfigError(f"{folder}: has {self.vocabulary} tokens, expected 2 to {TOKEN_LIMIT}")
        # transformers 5 calls the argument cache; before it was past_key_values.
        known = inspect.signature(self._model.forward).parameters
        self._keyword = "cache" if "cache" in known else "past_key_values"
        self._never = [i for i in tokenizer.all_special_ids if i < self.vocabulary]
        self._cache: Any = self._transformers.DynamicCache()

    @property
    def longest(self) -> int | None:
        """Positions that the model takes, if it says so."""
        limit = getattr(self._model.config, "max_position_embeddings", None)
        return None if limit is None else int(limit)

    def feed(self, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """See :class:`ahasd.models.recording.CausalModel`."""
        with self._torch.inference_mode():
            ids = self._torch.tensor([list(tokens)])
            out = self._model(input_ids=ids, use_cache=True, **{self._keyword: self._cache})
        logits: npt.NDArray[Any] = out.logits[0, :, : self.vocabulary].float().numpy().copy()
        logits[:, self._never] = -np.inf
        return logits

    def rewind(self, length: int) -> None:
        """See :class:`ahasd.models.recording.CausalModel`."""
        if length == 0:
            self._cache = self._transformers.DynamicCache()
            return
        surplus = self._cache.get_seq_length() - length
        try:
            if surplus > 0:
                self._cache.crop(-surplus)
        except (RuntimeError, ValueError, NotImplementedError) as error:
            reason = _first_line(error)
            raise ConfigError(f"{self.folder}: its KV cache cannot be cut back ({reason})") from None


def record_set(
    target_folder: Path,
    draft_folder: Path,
    prompts: Sequence[str],
    settings: RecordSettings,
    out: Path,
    progress: Progress | None = None,
) -> list[Path]:
    """Record a trace for each prompt and write them as a set; their paths.

    Raises
    ------
    AhasdError
        If a package or a model is missing, the vocabularies differ, or ``out`` cannot be written.
    """
    versions = {name: str(_import(name).__version__) for name in ("torch", "transformers")}
    tokenizer = _load("AutoTokenizer", target_folder)
    if tokenizer.get_vocab() != _load("AutoTokenizer", draft_folder).get_vocab():
        raise ConfigError(f"{draft_folder}: has other tokens than {target_folder}, expected the same")
    target, draft = HfModel(target_folder, tokenizer), HfModel(draft_folder, tokenizer)
    ids = [[int(i) for i in tokenizer(text)["input_ids"]] for text in prompts]
    longest = max(map(len, ids), default=0) + settings.tokens + settings.steps
    for model in (target, draft):
        if model.longest is not None and longest > model.longest:
            raise ConfigError(
                f"--tokens: prompt, text and rollouts need {longest} positions, "
                f"{model.folder} has {model.longest}"
            )
    new_folder(out)  # before hours of recording
    traces, h_max = {}, 0.0
    for number, prompt in enumerate(ids):
        target.rewind(0)
        draft.rewind(0)
        own = RecordSettings(
            tokens=settings.tokens,
            steps=settings.steps,
            temperature=settings.temperature,
            seed=settings.seed + number,
        )
        arrays, facts = record(target, draft, prompt, own, progress)
        traces[f"{number:02}_prompt.npz"] = arrays
        h_max = max(h_max, facts["h_max"])
    names = ("prompt", "y", "draft")
    used = sorted({int(i) for a in traces.values() for name in names for i in np.unique(a[name])})
    provenance = {
        "target": target_folder.resolve().name,
        "draft": draft_folder.resolve().name,
        "y_temperature": settings.temperature,
        "seeds": {"y": f"{settings.seed} + prompt index, noise drawn by position"},
        "prompts": list(prompts),
        "rows": settings.tokens,
        "steps": settings.steps,
        "vocab": max(target.vocabulary, draft.vocabulary),
        "vocab_draft": draft.vocabulary,
        "h_max": h_max,
        "fields": {
            "accept_pred": "no trained predictor: top1, the draft model's own probability of the token",
            "draft": "greedy; a rollout is shared by all rows with the same prefix",
            "lookahead": "all: special tokens are never said, so the text does not end",
        },
        "rollout_dtype": "float32",
        **versions,
    }
    return write_set(out, traces, {i: _piece(tokenizer, i) for i in used}, provenance)


def _piece(tokenizer: Any, token: int) -> str:
    """Text of one token; the space that a SentencePiece decoder drops at the start is kept."""
    text: str = tokenizer.decode([token])
    raw = tokenizer.convert_ids_to_tokens(token) or ""
    return f" {text}" if raw.startswith("\u2581") and not text.startswith(" ") else text
