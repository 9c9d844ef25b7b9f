"""``attest sources``: which sentences of the context a language model has its answer from (E18).

    attest sources --model my-llama --context contract.txt --question "When does it end?"
    attest sources --model my-llama --context contract.txt --question "When does it end?" --answer "In May 2027." --json
    attest sources --model my-llama --context first.txt second.txt --units documents --question "Who signed?" --out page.html

The command leaves out each source alone, and measures how far the log-probability of the answer falls. Then it compares these
falls with attention, rollout, gradients and a linear model of random sets. The model is a causal language model of the library
transformers. Without --answer the model writes the answer itself, by taking the likeliest token each time. --chat puts
context and question into the chat template of the tokenizer, as a chat model is asked.
"""

import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from attest.app.cli.main import CommandParser, require_own
from attest.core.errors import AttestError


def main(arguments: list[str]) -> int:
    typed = _parser().parse_args(arguments)
    from attest.report.templating import OURS

    require_own(typed.out, {".html": OURS})
    try:
        context = [path.read_text(encoding="utf-8-sig") for path in typed.context]
    except (OSError, UnicodeDecodeError) as error:
        raise AttestError(f"a context cannot be read ({error}); expected files of text in UTF-8.") from error
    from attest.app.api.sources import sources  # seconds that no mistake waits for

    with redirect_stdout(sys.stderr) if typed.json else nullcontext():
        taken = ("question", "answer", "units", "new_tokens", "ablations", "leave_out", "seed", "device", "chat")
        options = {option: getattr(typed, option) for option in taken}
        prompt = None if typed.prompt is None else typed.prompt.replace(r"\n", "\n")
        found = sources(typed.model, context, prompt=prompt, **options)
    found.write_page(typed.out)
    if typed.json:
        print(json.dumps(found.as_json(), allow_nan=False))
    else:
        print(found)
        print(f"Page:       {typed.out}")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest sources", __doc__)
    parser.add_argument("--model", required=True, help="a folder that save_pretrained wrote, or an id on the Hub")
    parser.add_argument("--context", type=Path, nargs="+", required=True, help="text files in UTF-8, one for each document")
    parser.add_argument("--question", default="", help="the question about the context")
    parser.add_argument(
        "--answer", help="the answer for which Attest looks for sources in the context; by default the model writes an answer"
    )
    parser.add_argument(
        "--units",
        choices=("sentences", "documents"),
        default="sentences",
        help="what counts as one source of the answer: a sentence (sentences, the default) or a file (documents)",
    )
    parser.add_argument("--prompt", help="the whole prompt, with {context} and {question} in it; type \\n for a new line")
    parser.add_argument(
        "--chat", action="store_true", help="put the prompt into the chat template of the tokenizer, as a message of a user"
    )
    parser.add_argument("--new-tokens", type=int, default=20, help="the model writes at most this many tokens; by default 20")
    parser.add_argument(
        "--ablations",
        type=int,
        default=32,
        help="how many random sets of sources (parts of the context) are left out to fit a linear model of their effects; by "
        "default 32; 0: no linear model",
    )
    parser.add_argument(
        "--leave-out", choices=("each", "groups"), default="each",
        help="leave out each source (part of the context) alone (each, the default), or whole groups of sources (groups: "
             "faster, but approximate)",
    )  # fmt: skip
    parser.add_argument("--device", help="the device of the model: cpu (the default), cuda or cuda:1")
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed for drawing random sets of sources (parts of the context); by default 0"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("sources.html"), help="write the page to this file; by default sources.html"
    )
    parser.add_argument("--json", action="store_true", help="print only one line of JSON on standard output")
    return parser
