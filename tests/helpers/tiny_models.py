"""Tiny random models. As a program, where transformers is installed: saves one of a kind to a folder."""

import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

__all__ = ["encoder", "talker"]

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def talker() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return a language model and its tokenizer of bytes."""
    torch.manual_seed(0)
    special = ["<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate([*special, *letters])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, **dict(zip(("eos_token", "pad_token"), special, strict=False))
    )
    tokenizer.chat_template = TEMPLATE
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 16384}
    config = LlamaConfig(vocab_size=len(tokenizer), eos_token_id=0, pad_token_id=1, **sizes, **heads)
    return LlamaForCausalLM(config), tokenizer


def encoder(folder: Path, layers: int) -> tuple[BertModel, BertTokenizerFast]:
    """Return an encoder, and its tokenizer of letters, of which the folder gets the vocabulary."""
    torch.manual_seed(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=128)
    sizes = {"hidden_size": 16, "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": 16}
    return BertModel(BertConfig(vocab_size=len(words), **sizes)), tokenizer


def main(kind: str, folder: Path, *layers: str) -> None:
    """Save a model; an encoder with a number of layers."""
    folder.mkdir(parents=True)
    model, tokenizer = encoder(folder, *map(int, layers)) if kind == "encoder" else talker()
    if kind == "talker":
        # It stops after some six letters, so that conversations are short.
        with torch.no_grad():
            model.model.embed_tokens.weight[:, 0] = 1.0
            model.lm_head.weight[tokenizer.eos_token_id, 0] = 1.0
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
