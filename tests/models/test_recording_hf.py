"""Recording from Hugging Face models on disk; only where torch and transformers are installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.errors import ConfigError, TraceError
from ahasd.models.recording import RecordSettings
from ahasd.models.recording_hf import record_set
from ahasd.models.traces import load_trace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

SETTINGS = RecordSettings(tokens=12, steps=5, temperature=0.5, seed=4)


def save(folder: Path, layers: int, longest: int = 64, extra: str = "") -> Any:
    """A random Llama with a byte tokenizer; fewer layers of the same seed make a draft."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {text: i for i, text in enumerate(["</s>", *alphabet, *extra])}
    raw = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>").save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=longest,
        initializer_range=0.3,
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    model.save_pretrained(folder)
    return model


def test_rows_are_what_the_draft_says_without_a_cache(tmp_path: Path) -> None:
    save(tmp_path / "target", 2)
    draft = save(tmp_path / "draft", 1)
    (path,) = record_set(tmp_path / "target", tmp_path / "draft", ["a cat"], SETTINGS, tmp_path / "set")
    trace = load_trace(path)
    assert (trace.rows, trace.steps, trace.context) == (12, 5, 5)
    assert trace.text(trace.prompt.tolist()) == "a cat"
    for row in range(trace.rows):
        tokens = [*trace.prompt.tolist(), *trace.y[:row].tolist()]
        for step in range(trace.steps):
            with torch.inference_mode():
                logits = draft(input_ids=torch.tensor([tokens])).logits[0, -1].clone()
                logits[0] = -torch.inf  # </s> is never said
            assert trace.draft[row, step] == int(logits.argmax())
            assert trace.top1[row, step] == pytest.approx(float(logits.softmax(-1).max()), abs=2e-3)
            tokens.append(int(logits.argmax()))
    assert 0 not in trace.y
    provenance = json.loads((tmp_path / "set" / "provenance.json").read_text())
    assert provenance["fields"]["accept_pred"].startswith("no trained predictor")


def test_mistakes(tmp_path: Path) -> None:
    save(tmp_path / "target", 1)
    save(tmp_path / "other", 1, extra="\u4e2d")
    save(tmp_path / "short", 1, longest=16)

    def run(target: str, draft: str) -> None:
        record_set(tmp_path / target, tmp_path / draft, ["a cat"], SETTINGS, tmp_path / "set")

    with pytest.raises(ConfigError, match=r"nowhere: no config\.json"):
        run("nowhere", "target")
    with pytest.raises(ConfigError, match="other: has other tokens than"):
        run("target", "other")
    with pytest.raises(ConfigError, match=r"need 22 positions, .*short has 16"):
        run("target", "short")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "00_old.npz").touch()
    with pytest.raises(TraceError, match="holds traces already"):
        run("target", "target")
    (tmp_path / "short" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match="short: AutoModelForCausalLM cannot be loaded"):
        run("target", "short")
    (tmp_path / "target" / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        run("target", "short")
